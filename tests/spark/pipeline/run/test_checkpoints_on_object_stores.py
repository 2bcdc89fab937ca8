"""Pipelines with their checkpoints in a bucket: what one machine began, another one goes on with."""

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.spark.lake.formats import open_table
from penstock.spark.lake.location import location_of
from penstock.spark.pipeline.core.model import DedupeStep, Output, Pipeline, Step
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.run.tables import table_problems
from tests.spark.lake.support import read
from tests.spark.pipeline.run.test_runner import Shop, order
from tests.support.broker import BrokerProcess
from tests.support.object_store import ObjectStore

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


def test_another_machine_goes_on_with_the_state_and_replays_the_last_batch_without_a_trace(
    shared_broker: BrokerProcess, spark: SparkSession, object_store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    shop = Shop(shared_broker, tmp_path, spark)
    shop.create("orders", partitions=1)
    once = Step(name="once", inputs=("orders",), operation=DedupeStep(by=("id",)))
    base = shop.pipeline(
        Output(
            name="table",
            input="once",
            target=TableTarget(path=f"s3://{bucket}/orders", options=object_store.options),
        ),
        Output(name="topic", input="once", target=TopicTarget(topic=shop.topic("once"))),
        sources=(shop.source("orders"),),
        steps=(once,),
    )
    base = msgspec.structs.replace(
        base, checkpoints=f"s3://{bucket}/checkpoints", checkpoint_options=object_store.options
    )

    def run_on(machine: str) -> Pipeline:
        """A machine keeps its state directory beside the file."""
        (tmp_path / machine).mkdir(exist_ok=True)
        pipeline = msgspec.structs.replace(base, directory=str(tmp_path / machine))
        assert shop.run_once(pipeline).exit_code == 0
        return pipeline

    shop.produce("orders", [order(1), order(2), order(1)])
    assert list(table_problems(run_on("first"))) == []
    finished = [key for key in object_store.keys(bucket) if "/commits/" in key]
    assert len(finished) >= 2  # of two queries
    for key in finished:  # as if the machine had died before it could store them
        object_store.client("s3").delete_object(Bucket=bucket, Key=key)
    shop.produce("orders", [order(2), order(3)])
    run_on("second")
    shop.produce("orders", [order(3), order(4)])
    run_on("first")
    table = open_table(location_of(f"s3://{bucket}/orders", object_store.options))
    assert sorted(row["id"] for row in read(table)) == ["o1", "o2", "o3", "o4"]
    assert sorted(row["id"] for row in shop.read(shop.topic("once"))) == ["o1", "o2", "o3", "o4"]


def test_a_bucket_for_checkpoints_that_does_not_exist_is_named(object_store: ObjectStore) -> None:
    pipeline = Pipeline(
        name="p",
        sources=(),
        outputs=(),
        checkpoints="s3://nowhere/cp",
        checkpoint_options=object_store.options,
    )
    (problem,) = table_problems(pipeline)
    assert problem.message.startswith("checkpoints: s3://nowhere/cp: the bucket does not exist")
