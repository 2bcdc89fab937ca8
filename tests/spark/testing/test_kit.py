"""The kit runs a pipeline file from its topic to its outputs."""

import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.testing.broker import BrokerDidNotStart, TestBroker, running_broker
from penstock.spark.testing.kit import PipelineKit
from penstock.spark.testing.plugin import penstock_broker as penstock_broker  # noqa: PLC0414 - fixtures to be found
from penstock.spark.testing.plugin import pipeline_kit as pipeline_kit  # noqa: PLC0414
from tests.support.broker import BrokerProcess

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def penstock_spark(spark: SparkSession) -> SparkSession:
    """The session that all Spark tests share."""
    return spark


PIPELINE = """
pipeline: {name}
checkpoints: ./not-here

sources:
  orders:
    topic: {name}-orders
    decode: {{json: {{schema: "orderId STRING NOT NULL, amount DOUBLE"}}}}
    expect: [{{name: positive amount, rule: amount > 0, otherwise: dead-letter}}]

outputs:
  large: {{from: orders, topic: {name}-out, key: orderId}}
  history: {{from: orders, table: ./lake/orders}}
"""


def test_a_pipeline_is_fed_run_and_compared(pipeline_kit: PipelineKit, tmp_path: Path) -> None:
    name = f"kit-{uuid.uuid4().hex[:8]}"
    source = tmp_path / "source"
    source.mkdir()
    file = source / "pipeline.yaml"
    file.write_text(PIPELINE.format(name=name))
    good = [{"orderId": "a", "amount": 1.5}, {"orderId": "b", "amount": 2.0}]
    bad = [b"{", {"orderId": "c", "amount": -1}, None]
    pipeline_kit.feed(f"{name}-orders", [*good, *bad], key="orderId")
    pipeline_kit.run(str(file))
    pipeline_kit.assert_topic(f"{name}-out", reversed(good))
    pipeline_kit.assert_table("./lake/orders", good)
    assert sorted(letter.error for letter in pipeline_kit.dead_letters(name)) == [
        "expectation broken: positive amount (amount > 0)",
        "not JSON: expecting property name enclosed in double quotes at character 1",
        "null value",
    ]
    assert [path.name for path in source.iterdir()] == ["pipeline.yaml"]
    with pytest.raises(AssertionError, match=r"1 row\(s\) missing"):
        pipeline_kit.assert_topic(f"{name}-out", [*good, {"orderId": "z"}], columns=["orderId"])


def test_a_broker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(BrokerDidNotStart, match=r"no\.such\.setting"),
        running_broker(str(tmp_path), {"no.such.setting": "1"}),
    ):
        pass


def test_a_pipeline_that_never_rejected_has_no_dead_letters(
    shared_broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    kit = PipelineKit(TestBroker(bootstrap=shared_broker.bootstrap), spark, str(tmp_path))
    assert kit.dead_letters(f"nobody-{uuid.uuid4().hex[:8]}") == []
