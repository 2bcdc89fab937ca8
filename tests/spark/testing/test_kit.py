"""The kit runs a pipeline file from its topic to its outputs."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.testing.kit import PipelineKit
from penstock.spark.testing.plugin import pipeline_kit as pipeline_kit  # noqa: PLC0414 - a fixture to be found

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def penstock_spark(spark: SparkSession) -> SparkSession:
    """The session that all Spark tests share."""
    return spark


PIPELINE = """
pipeline: kit
checkpoints: ./not-here

sources:
  orders:
    topic: orders
    decode: {json: {schema: "orderId STRING NOT NULL, amount DOUBLE"}}
    expect: [{name: positive amount, rule: amount > 0, otherwise: dead-letter}]

outputs:
  large: {from: orders, topic: out, key: orderId}
  history: {from: orders, table: ./lake/orders}
"""


def test_a_pipeline_is_fed_run_and_compared(pipeline_kit: PipelineKit, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    file = source / "pipeline.yaml"
    file.write_text(PIPELINE)
    good = [{"orderId": "a", "amount": 1.5}, {"orderId": "b", "amount": 2.0}]
    bad = [b"{", {"orderId": "c", "amount": -1}, None]
    pipeline_kit.feed("orders", [*good, *bad], key="orderId")
    pipeline_kit.run(str(file))
    pipeline_kit.assert_topic("out", reversed(good))
    pipeline_kit.assert_table("./lake/orders", good)
    assert sorted(letter.error for letter in pipeline_kit.dead_letters("kit")) == [
        "expectation broken: positive amount (amount > 0)",
        "not JSON: expecting property name enclosed in double quotes at character 1",
        "null value",
    ]
    assert [path.name for path in source.iterdir()] == ["pipeline.yaml"]
    with pytest.raises(AssertionError, match="row 3 is missing"):
        pipeline_kit.assert_topic("out", [*good, {"orderId": "z"}], columns=["orderId"])


def test_no_test_sees_the_records_of_another(pipeline_kit: PipelineKit) -> None:
    assert pipeline_kit.records("orders") == []
    assert pipeline_kit.dead_letters("kit") == []
