"""Pipelines with their checkpoints in a bucket: what one machine began, another one goes on with."""

from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.spark.decode.settings import RawDecoder
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.location import location_of
from penstock.spark.pipeline.core.model import DedupeStep, Output, Pipeline, Step, TopicSource
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.run.tables import store_problems
from tests.spark.lake.support import read
from tests.spark.pipeline.run.test_runner import Shop
from tests.support.broker import BrokerProcess
from tests.support.object_store import ObjectStore

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(300)]


def test_another_machine_goes_on_with_the_state_and_replays_the_last_batch_without_a_trace(
    shared_broker: BrokerProcess, spark: SparkSession, object_store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    shop = Shop(shared_broker, tmp_path, spark)
    shop.create("orders", partitions=1)
    base = shop.pipeline(
        Output(
            name="table",
            input="once",
            target=TableTarget(path=f"s3://{bucket}/orders", options=object_store.options),
        ),
        sources=(TopicSource(name="orders", topics=(shop.topic("orders"),), decoder=RawDecoder(text=True)),),
        steps=(Step(name="once", inputs=("orders",), operation=DedupeStep(by=("value",))),),
    )
    base = msgspec.structs.replace(
        base, checkpoints=f"s3://{bucket}/checkpoints", checkpoint_options=object_store.options
    )

    def run_on(machine: str) -> None:
        """A machine keeps its state directory beside the file."""
        (tmp_path / machine).mkdir(exist_ok=True)
        pipeline = msgspec.structs.replace(base, directory=str(tmp_path / machine))
        assert shop.run_once(pipeline).exit_code == 0

    shop.produce("orders", ["o1", "o2", "o1"])
    run_on("first")
    finished = [key for key in object_store.keys(bucket) if "/commits/" in key]
    assert finished
    for key in finished:  # as if the machine had died before it could store them
        object_store.client("s3").delete_object(Bucket=bucket, Key=key)
    shop.produce("orders", ["o2", "o3"])
    run_on("second")
    table = open_table(location_of(f"s3://{bucket}/orders", object_store.options))
    assert sorted(row["value"] for row in read(table)) == ["o1", "o2", "o3"]


def test_a_bucket_for_checkpoints_that_does_not_exist_is_named(object_store: ObjectStore) -> None:
    pipeline = Pipeline(
        name="p",
        sources=(),
        outputs=(),
        checkpoints="s3://nowhere/cp",
        checkpoint_options=object_store.options,
    )
    (problem,) = store_problems(pipeline)
    assert problem.message.startswith("checkpoints: s3://nowhere/cp: the bucket does not exist")


def test_outputs_that_share_their_reads_go_on_with_another_machine(
    shared_broker: BrokerProcess, spark: SparkSession, object_store: ObjectStore, bucket: str, tmp_path: Path
) -> None:
    """One of them merges changes. The first machine dies after it wrote a batch, before Spark says that it is done."""
    shop = Shop(shared_broker, tmp_path, spark)
    shop.create("orders", partitions=1)

    def target(name: str, *key: str) -> TableTarget:
        return TableTarget(path=f"s3://{bucket}/{name}", options=object_store.options, key=key)

    base = shop.pipeline(
        Output(name="all", input="orders", target=target("all")),
        Output(name="newest", input="orders", target=target("newest", "value"), mode="upsert"),
        sources=(TopicSource(name="orders", topics=(shop.topic("orders"),), decoder=RawDecoder(text=True)),),
    )
    base = msgspec.structs.replace(
        base, checkpoints=f"s3://{bucket}/checkpoints", checkpoint_options=object_store.options
    )

    def run_on(machine: str) -> None:
        (tmp_path / machine).mkdir()
        assert shop.run_once(msgspec.structs.replace(base, directory=str(tmp_path / machine))).exit_code == 0

    def rows(name: str) -> list[str]:
        table = open_table(location_of(f"s3://{bucket}/{name}", object_store.options))
        return sorted(row["value"] for row in read(table))

    shop.produce("orders", ["o1", "o2", "o1"])
    run_on("first")
    keys = object_store.keys(bucket)
    assert [key for key in keys if "_source.orders/_log/" in key]
    for key in keys:
        if "/commits/" in key:
            object_store.client("s3").delete_object(Bucket=bucket, Key=key)
    shop.produce("orders", ["o2", "o3"])
    run_on("second")
    assert rows("all") == ["o1", "o1", "o2", "o2", "o3"]
    assert rows("newest") == ["o1", "o2", "o3"]
