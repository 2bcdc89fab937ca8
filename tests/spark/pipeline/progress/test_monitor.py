"""What is known about each query of a run."""

from typing import Any

from penstock.spark.pipeline.progress.batch import Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.status import PAUSED, RUNNING, STARTING


def batch(at_ms: int, **more: Any) -> Progress:
    values: dict[str, Any] = {
        "query": "shop.table",
        "batch_id": 0,
        "input_rows": 10,
        "input_rows_per_second": 1.0,
        "processed_rows_per_second": 2.0,
        "batch_ms": 300,
        **more,
    }
    return Progress(at_ms=at_ms, **values)


def test_a_query_without_progress_is_starting() -> None:
    (query,) = Monitor(["shop.table"]).statuses(0)
    assert (query.state, query.batch_id, query.rows) == (STARTING, None, 0)


def test_rows_and_broken_expectations_add_up_over_batches() -> None:
    monitor = Monitor(["shop.table"])
    monitor.record_batch(batch(1, broken={"orders": {"positive": 2}}, dead_letters=1, late_rows=3))
    monitor.record_batch(batch(2, broken={"orders": {"positive": 1, "known": 4}}, dead_letters=1))
    (query,) = monitor.statuses(3)
    assert (query.rows, query.dead_letters, query.late_rows) == (20, 2, 3)
    assert query.broken == {"orders": {"positive": 3, "known": 4}}


def test_a_batch_that_is_reported_twice_counts_once() -> None:
    monitor = Monitor(["shop.table"])
    assert monitor.record_batch(batch(1))
    assert not monitor.record_batch(batch(1))
    assert monitor.rows(["shop.table"]) == 10


def test_queries_of_others_are_not_ours() -> None:
    monitor = Monitor(["shop.table"])
    assert not monitor.record_batch(batch(1, query="another"))
    assert [query.name for query in monitor.statuses(2)] == ["shop.table"]


def test_a_trigger_without_rows_does_not_hide_how_long_batches_take() -> None:
    monitor = Monitor(["shop.table"])
    monitor.record_batch(batch(1, batch_ms=900))
    monitor.record_batch(batch(2, batch_ms=3, input_rows=0, processed_rows_per_second=0.0))
    (query,) = monitor.statuses(3)
    assert (query.batch_duration_ms, query.processed_rows_per_second) == (900, 0.0)


def test_lag_is_known_in_records_and_in_seconds() -> None:
    monitor = Monitor(["shop.table"])
    monitor.record_batch(batch(1_000, consumed={"orders": {0: 5}}, latest={"orders": {0: 9}}))
    (query,) = monitor.statuses(3_500)
    assert (query.lag_records, query.lag_seconds) == (4, 2.5)
    assert monitor.consumed() == {"shop.table": {"orders": {0: 5}}}


def test_lag_is_unknown_before_the_first_batch_and_while_no_end_is_known() -> None:
    monitor = Monitor(["shop.table"])
    (query,) = monitor.statuses(1)
    assert (query.lag_records, query.lag_seconds) == (None, None)
    monitor.record_batch(batch(1_000, consumed={"orders": {0: 5}}, latest={}))
    (query,) = monitor.statuses(3_500)
    assert (query.lag_records, query.lag_seconds) == (None, None)


def test_the_last_error_stays_known_after_a_restart() -> None:
    monitor = Monitor(["shop.table"])
    monitor.record_failure("shop.table", PAUSED, "disk full")
    monitor.set_state("shop.table", RUNNING)
    (query,) = monitor.statuses(0)
    assert (query.state, query.failures, query.last_error) == (RUNNING, 1, "disk full")


def test_lag_is_unknown_from_a_failure_until_the_restarted_query_knows_the_end_again() -> None:
    monitor = Monitor(["shop.table"])
    monitor.record_batch(batch(1_000, consumed={"orders": {0: 9}}, latest={"orders": {0: 9}}))
    monitor.record_failure("shop.table", PAUSED, "disk full")
    monitor.set_state("shop.table", RUNNING)
    assert monitor.statuses(2_000)[0].lag_records is None
    monitor.record_batch(batch(3_000, consumed={"orders": {0: 9}}, latest={}))  # a replay asks for no end
    assert monitor.statuses(4_000)[0].lag_records is None
    monitor.record_batch(batch(5_000, consumed={"orders": {0: 12}}, latest={"orders": {0: 40}}))
    assert monitor.statuses(6_000)[0].lag_records == 28
