"""Columns of change events that a file does not declare."""

import json
from typing import Any

import pytest

from penstock.spark.decode.debezium.peek import ChangesOfManyTables
from penstock.spark.decode.settings import DebeziumDecoder
from penstock.spark.pipeline.backfill import select_queries
from penstock.spark.pipeline.compile.columns import sampled_columns, with_columns
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.yaml.file import read_yaml
from tests.spark.decode.debezium.recorded_events import events


def pipeline(output: str, decode: str = "debezium", pattern: str = "shop[.].*") -> Pipeline:
    return read_yaml(
        f"pipeline: cdc\nsources:\n  changes: {{pattern: '{pattern}', decode: {decode}}}\n"
        f"outputs:\n  out: {{from: changes, {output}}}\n",
        "cdc.yaml",
        {},
    )


def decoder_of(found: Pipeline) -> DebeziumDecoder:
    (source,) = found.sources
    assert isinstance(source, TopicSource)
    assert isinstance(source.decoder, DebeziumDecoder)
    return source.decoder


def test_the_newest_events_show_the_columns_of_one_table() -> None:
    values = [each.value for each in events("json_schemas", "customers") if each.value is not None]
    found = with_columns(pipeline("table: t"), lambda _: [b"no event", *values])
    assert decoder_of(found).schema == "`id` INT, `name` STRING, `email` STRING, `points` BIGINT"


def test_without_schemas_the_values_show_the_columns() -> None:
    event: dict[str, Any] = {
        "op": "c",
        "source": {},
        "before": None,
        "after": {"id": 1, "none": None, "x": 1.5, "ok": True, "o": {}},
    }
    assert sampled_columns(DebeziumDecoder(), [json.dumps(event).encode()]) == (
        "`id` BIGINT, `x` DOUBLE, `ok` BOOLEAN, `o` STRING"
    )
    assert sampled_columns(DebeziumDecoder(), []) is None


def test_tables_of_topics_leave_the_columns_to_each_batch() -> None:
    target = "table: 'lake/{table}', for_each_topic: true, mode: upsert"
    found = with_columns(pipeline(target, "{debezium: {before: true}}"), lambda _: [])
    decoder = decoder_of(found)
    assert isinstance(decoder, ChangesOfManyTables)
    assert (decoder.before, decoder.schema) == (True, None)
    declared = with_columns(pipeline("table: t", "{debezium: id INT}"), lambda _: [])
    assert decoder_of(declared).schema == "id INT"


@pytest.mark.parametrize(
    ("output", "pattern", "message"),
    [
        ("table: lake, for_each_topic: true", "shop[.].*", "with `for_each_topic` the path names each table"),
        ("table: 'lake/{schema}', for_each_topic: true", "shop[.].*", "the path names each table"),
        ("table: 'lake/{table}/{x}', for_each_topic: true", "shop[.].*", "the path names each table"),
        ("table: 'lake/{table}'", "shop[.].*", "has a placeholder, which is for `for_each_topic: true`"),
        ("table: lake", ".*", "its source changes reads the dead-letter topic cdc.dlq too"),
    ],
)
def test_an_output_that_cannot_work_is_refused(output: str, pattern: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        pipeline(output, pattern=pattern)
    assert message in str(caught.value)


def test_tables_of_topics_cannot_be_backfilled() -> None:
    found = pipeline("table: 'lake/{table}', for_each_topic: true, mode: upsert")
    with pytest.raises(ValueError, match="output out has a table for each topic, which cannot be backfilled"):
        select_queries(found, None)
