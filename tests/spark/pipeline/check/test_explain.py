from penstock.spark.pipeline.check import Report
from penstock.spark.pipeline.check.analysis import Analysis
from penstock.spark.pipeline.check.explain import (
    PART_COLUMNS,
    QUERY_COLUMNS,
    part_rows,
    query_rows,
    summary,
)
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.yaml.file import read_yaml

TEXT = """\
pipeline: p
checkpoints: file:///state
sources:
  orders: {topics: [a, b], decode: {json: 'id STRING'}}
  names: {table: ./names}
steps:
  - {name: big, from: orders, filter: amount > 1000}
outputs:
  out: {from: big, topic: out, partitions: 1, trigger: 90 s}
  kept: {from: orders, table: ./kept, format: iceberg}
  seen: {from: orders, console: true}
"""


def read() -> Pipeline:
    return read_yaml(TEXT, "f.yaml", {})


def report(partitions: dict[str, int] | None) -> Report:
    analysis = Analysis(problems=(), columns={"orders": (("id", "string"), ("n", "int"))})
    return Report(pipeline=read(), problems=(), analysis=analysis, partitions=partitions)


def test_each_source_and_step_is_shown_with_what_it_reads_and_its_columns() -> None:
    rows = [dict(zip(PART_COLUMNS, row, strict=True)) for row in part_rows(report({"a": 3}))]
    assert rows == [
        {
            "line": 4,
            "name": "orders",
            "what it is": "topic, json",
            "reads": "a (3 partitions), b (missing)",
            "columns": "id string, n int",
        },
        {"line": 5, "name": "names", "what it is": "table", "reads": "./names (delta)", "columns": "?"},
        {"line": 7, "name": "big", "what it is": "filter amount > 1000", "reads": "orders", "columns": "?"},
    ]


def test_each_query_is_shown_with_where_it_writes_and_keeps_its_checkpoint() -> None:
    rows = [dict(zip(QUERY_COLUMNS, row, strict=True)) for row in query_rows(report({}))]
    assert [(row["query"], row["to"], row["trigger"]) for row in rows] == [
        ("p.out", "topic out (will be created with 1 partition), exactly-once", "1 minute 30 seconds"),
        ("p.kept", "table ./kept (iceberg)", "1 second"),
        ("p.seen", "console", "1 second"),
        (
            "p.dead-letters.orders",
            "topic p.dlq (will be created with the broker's number of partitions)",
            "1 second",
        ),
    ]
    assert rows[0]["checkpoint"] == "file:///state/out"
    assert [row["line"] for row in rows] == [9, 10, 11, None]


def test_without_a_broker_nothing_is_said_about_partitions() -> None:
    assert [row[3] for row in part_rows(report(None))][:1] == ["a, b"]
    assert "will be created" not in str(query_rows(report(None)))


def test_the_summary_counts_the_parts() -> None:
    assert summary(read()).startswith("pipeline p: 2 sources, 1 step, 3 outputs; brokers at 127.0.0.1:9092")
