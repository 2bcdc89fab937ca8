"""What Spark tells about a micro-batch, as numbers. The JSON is as Spark 4.3 wrote it, cut where nothing is asked."""

import json
from typing import Any

import pytest

from penstock.spark.pipeline.progress.batch import Progress, from_json, lag_records, offsets

TOPIC_BATCH: dict[str, Any] = {
    "id": "b07307e6-caaf-4c3e-89ac-6e2ef82a0f59",
    "runId": "5db40533-ceec-4d86-b840-78f147cdf0fe",
    "name": "shop.table",
    "timestamp": "2026-11-15T09:26:14.075Z",
    "batchId": 3,
    "batchDuration": 821,
    "numInputRows": 10,
    "inputRowsPerSecond": 18.5,
    "processedRowsPerSecond": 12.2,
    "durationMs": {"addBatch": 550, "commitOffsets": 186, "triggerExecution": 820, "walCommit": 38},
    "eventTime": {"max": "1970-01-01T00:00:03.000Z", "watermark": "1970-01-01T00:00:01.000Z"},
    "stateOperators": [
        {
            "operatorName": "stateStoreSave",
            "numRowsTotal": 3,
            "numRowsDroppedByWatermark": 2,
            "memoryUsedBytes": 1488,
        },
        {
            "operatorName": "dedupe",
            "numRowsTotal": 4,
            "numRowsDroppedByWatermark": 1,
            "memoryUsedBytes": 12,
        },
    ],
    "observedMetrics": {
        "expectations:orders": {"positive amount": 2, "known customer": 0},
        "dead-letters": {"rows": 5},
        "somebody else's": {"rows": 100},
    },
    "sources": [
        {
            "description": "penstock",
            "startOffset": {"orders": {"0": 10, "1": 0}},
            "endOffset": {"orders": {"0": 20, "1": 4}},
            "latestOffset": {"orders": {"0": 25, "1": 4}},
            "numInputRows": 10,
        }
    ],
    "sink": {"description": "MemorySink", "numOutputRows": 1},
}


def reported(**changes: Any) -> Progress:
    return from_json(json.dumps({**TOPIC_BATCH, **changes}))


def test_a_batch_becomes_numbers() -> None:
    progress = reported()
    assert (progress.query, progress.batch_id, progress.at_ms) == ("shop.table", 3, 1794734774075)
    assert (progress.input_rows, progress.processed_rows_per_second, progress.batch_ms) == (10, 12.2, 820)
    assert progress.watermark == "1970-01-01T00:00:01.000Z"


def test_the_state_of_all_operators_is_added_up() -> None:
    progress = reported()
    assert (progress.state_rows, progress.state_bytes, progress.late_rows) == (7, 1500, 3)


def test_only_our_own_observed_metrics_are_counted() -> None:
    progress = reported()
    assert progress.broken == {"orders": {"positive amount": 2, "known customer": 0}}
    assert progress.dead_letters == 5


def test_observed_metrics_of_a_connect_server_count_the_same() -> None:
    def row(**counts: int) -> dict[str, Any]:
        fields = [{"name": name, "type": "long", "nullable": False, "metadata": {}} for name in counts]
        return {"values": list(counts.values()), "schema": {"type": "struct", "fields": fields}}

    progress = reported(observedMetrics={"expectations:orders": row(positive=2), "dead-letters": row(rows=5)})
    assert (progress.broken, progress.dead_letters) == ({"orders": {"positive": 2}}, 5)


def test_lag_is_what_lies_between_the_offsets() -> None:
    progress = reported()
    assert progress.consumed == {"orders": {0: 20, 1: 4}}
    assert progress.lag_records == 5


def test_the_lag_of_a_source_without_an_end_is_unknown() -> None:
    source = {**TOPIC_BATCH["sources"][0], "latestOffset": None}
    assert reported(sources=[source]).lag_records is None
    assert lag_records({"orders": {0: 1, 1: 1}}, {"orders": {0: 3}}) is None


def test_of_two_sources_of_one_topic_the_one_behind_counts() -> None:
    slow = {"endOffset": {"orders": {"0": 7}}, "latestOffset": {"orders": {"0": 24}}}
    progress = reported(sources=[*TOPIC_BATCH["sources"], slow])
    assert progress.consumed == {"orders": {0: 7, 1: 4}}
    assert progress.latest == {"orders": {0: 25, 1: 4}}


def test_a_partition_that_was_never_read_counts_from_its_beginning() -> None:
    assert lag_records({}, {"orders": {0: 3}}) == 3


def test_an_end_behind_what_was_read_is_no_negative_lag() -> None:
    assert lag_records({"orders": {0: 9}}, {"orders": {0: 3}}) == 0


def test_a_query_without_a_name_goes_by_its_id() -> None:
    assert reported(name=None).query == TOPIC_BATCH["id"]


def test_a_rate_that_is_no_number_is_none() -> None:
    text = json.dumps(
        {**TOPIC_BATCH, "inputRowsPerSecond": float("nan"), "processedRowsPerSecond": float("inf")}
    )
    progress = from_json(text)
    assert (progress.input_rows_per_second, progress.processed_rows_per_second) == (0.0, 0.0)


@pytest.mark.parametrize(
    "other",
    [None, 40, "0", {"offset": 30, "timestamp": 3000}, '{"offset": 3}', "not json", [1], {"t": {"x": 1}}],
)
def test_offsets_of_other_sources_are_passed_over(other: object) -> None:
    assert offsets(other) == {}


def test_offsets_may_come_as_text() -> None:
    assert offsets('{"orders":{"0":5}}') == {"orders": {0: 5}}
