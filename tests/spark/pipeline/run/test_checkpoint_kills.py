"""Machines are killed and replaced, and overlap, while a pipeline has its checkpoints in a bucket.

Each "machine" is a process group with its own directory. All rows are in the table and in the topic exactly once.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from penstock.spark.lake.formats import open_table
from penstock.spark.lake.location import location_of
from penstock.spark.lake.table import Table
from tests.spark.lake.support import read
from tests.spark.pipeline import shop
from tests.spark.pipeline.run.test_runner import Shop
from tests.support.broker import BrokerProcess
from tests.support.object_store import ObjectStore

SEED = int(os.environ.get("KILL_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
KILLS = int(os.environ.get("KILLS", "6"))
_PENSTOCK = str(Path(sys.executable).with_name("penstock"))
PROGRESS_TIMEOUT_S = 400.0  # a machine may be busy with other tests

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("spark"), pytest.mark.timeout(3600)]

FILE = """\
pipeline: moving
bootstrap_servers: {bootstrap}
trigger: 100 ms
checkpoints: s3://{bucket}/checkpoints
checkpoint_options: &store {options}
spark: {{spark.sql.shuffle.partitions: 2, spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1"}}
sources:
  orders: {{topic: orders, decode: {{json: 'id STRING NOT NULL, amount DOUBLE'}}, max_offsets_per_trigger: 40}}
steps:
  - {{name: once, from: orders, dedupe: {{by: [id]}}}}
outputs:
  table: {{from: once, table: "s3://{bucket}/orders", options: *store}}
  topic: {{from: once, topic: copied, key: id, value: id}}
"""


class Machine:
    def __init__(self, directory: Path) -> None:
        self._log = (directory / "run.log").open("ab")
        command = [_PENSTOCK, "pipeline", "run", "moving.yaml", "--quiet"]
        self.process = subprocess.Popen(
            command, cwd=directory, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()


class Orders:
    """Produces orders, each id twice, until it is stopped."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.ids: list[str] = []
        self._producer = Producer({"bootstrap.servers": broker.bootstrap})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        while not self._stopping.wait(0.5):
            number = len(self.ids)
            self.ids.append(f"o{number}")
            for each in (number, max(0, number - 7)):
                value = json.dumps({"id": f"o{each}", "amount": 1.0})
                self._producer.produce("orders", value, partition=each % 2)
        assert self._producer.flush(60) == 0

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@pytest.fixture
def orders(own_broker: BrokerProcess) -> Iterator[Orders]:
    shop.create(own_broker, "orders")
    found = Orders(own_broker)
    yield found
    found.stop()


def await_more_batches(table: Table, count: int) -> None:
    """Wait until the table has more rows than before, by this many versions."""

    def versions() -> int:
        return (
            0 if table.state() is None else sum(each.batch_id is not None for each in table.history(10_000))
        )

    wanted, waiting, left = versions() + count, threading.Event(), PROGRESS_TIMEOUT_S
    while versions() < wanted:
        waiting.wait(0.5)
        left -= 0.5
        assert left > 0, "no machine makes progress"


def test_machines_that_are_killed_and_overlap_write_every_row_once(
    own_broker: BrokerProcess,
    orders: Orders,
    object_store: ObjectStore,
    bucket: str,
    tmp_path: Path,
) -> None:
    chance = random.Random(SEED)
    options = json.dumps(object_store.options)
    text = FILE.format(bootstrap=own_broker.bootstrap, bucket=bucket, options=options)
    directories = [tmp_path / name for name in ("first", "second")]
    for directory in directories:
        directory.mkdir()
        (directory / "moving.yaml").write_text(text)
    table = open_table(location_of(f"s3://{bucket}/orders", object_store.options))
    running = [Machine(directories[0])]
    place = 0
    try:
        for _ in range(KILLS):
            await_more_batches(table, chance.randrange(1, 4))
            threading.Event().wait(chance.random())
            overlaps = chance.random() < 0.5
            if overlaps:  # the new machine takes over from one that still runs
                place = 1 - place  # a second run on one machine is refused
                running.append(Machine(directories[place]))
                await_more_batches(table, chance.randrange(1, 4))
            running.pop(0).kill()
            if not overlaps:
                place = chance.randrange(2)
                running.append(Machine(directories[place]))
        await_more_batches(table, 1)
    finally:
        for machine in running:
            machine.kill()
    orders.stop()
    command = [_PENSTOCK, "pipeline", "run", "moving.yaml", "--once", "--quiet"]
    done = subprocess.run(command, cwd=directories[0], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = sorted(orders.ids)
    assert sorted(row["id"] for row in read(table, "id")) == wanted, f"KILL_SEED={SEED}"
    copied = Shop(own_broker, tmp_path, cast("SparkSession", None)).messages("copied")
    assert sorted(message.value().decode() for message in copied) == wanted, f"KILL_SEED={SEED}"
