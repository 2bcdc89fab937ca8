"""What of a query is compared, as Spark's plans have it. Nothing is run."""

import pytest
from msgspec.structs import replace
from pyspark.sql import SparkSession

from penstock.spark.pipeline.compile.frames import compile_frames
from penstock.spark.pipeline.compile.sources import read_streams
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.plan.describe import describe_queries
from penstock.spark.pipeline.plan.record import QueryRecord
from penstock.spark.pipeline.yaml.file import read_yaml

pytestmark = pytest.mark.xdist_group("spark")

TEXT = """\
pipeline: p
sources:
  orders: {topic: orders, decode: {json: 'id STRING, amount DOUBLE, at TIMESTAMP'}, watermark: {column: at, delay: 1 m}}
  pays: {topic: pays, decode: {json: 'id STRING, paid TIMESTAMP'}, watermark: {column: paid, delay: 1 m}}
steps:
  - {name: totals, sql: "SELECT id, sum(amount) AS total FROM orders GROUP BY id"}
  - {name: windows, from: orders, window: {on: at, size: 1 m, by: [id], aggregates: {n: count(*)}}}
  - {name: once, from: orders, dedupe: {by: [id], within: 1 m}}
  - {name: joined, from: [orders, pays], join: {on: orders.id = pays.id AND paid >= at, select: orders.id}}
outputs:
  totals: {from: totals, console: true, mode: update}
  windows: {from: windows, console: true}
  once: {from: once, console: true}
  joined: {from: joined, console: true}
"""


def described(spark: SparkSession, text: str) -> dict[str, QueryRecord]:
    pipeline = read_yaml(text, "p.yaml", {})
    compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline))
    assert compiled.problems == []
    return {each.key: each for each in describe_queries(pipeline, plan_queries(pipeline), compiled)}


def test_state_and_streams_are_described_so_that_only_what_matters_differs(spark: SparkSession) -> None:
    before = described(spark, TEXT)
    totals, windows, once, joined = (before[key].operators for key in ("totals", "windows", "once", "joined"))
    assert totals is not None
    assert (totals[0].keys, totals[0].values) == ((("id", "string"),), (("sum(amount)", "double"),))
    assert windows is not None
    assert len(windows[0].windows) == 1
    assert once is not None
    assert (once[0].kind, once[0].keys) == ("DeduplicateWithinWatermark", (("id", "string"),))
    assert joined is not None
    assert [name for name, _ in joined[0].values] == [
        "id",
        "at",
        "id",
        "paid",
    ]  # not the amount: nothing reads it
    assert [each.label for each in before["joined"].sources] == ["orders (topic orders)", "pays (topic pays)"]

    moved = TEXT.replace("pipeline: p", "# a comment\npipeline: p").replace("delay: 1 m", "delay: 2 m")
    moved = moved.replace("amount DOUBLE", "note STRING, amount DOUBLE").replace("size: 1 m", "size: 2 m")
    after = described(spark, moved)
    unchanged = [key for key in before if before[key].operators == after[key].operators]
    assert unchanged == ["totals", "once", "joined", "dead-letters.orders", "dead-letters.pays"]
    assert "note STRING" in after["totals"].parts["orders"]
    assert replace(after["once"], parts={}) == replace(
        before["once"], parts={}, columns=after["once"].columns
    )
