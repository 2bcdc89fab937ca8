"""One pipeline file on a real standalone cluster and over Spark Connect, by the command that a user types.

The driver is a process of its own with a bare environment: nothing there says where Python or penstock are.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable

from tests.spark.deploy.spark_processes import SMALL_JVM, connect_server, standalone_cluster
from tests.spark.sink.live import committed_messages
from tests.spark.source.topics import new_topic, produce
from tests.support.broker import BrokerProcess, free_port

pytestmark = [pytest.mark.xdist_group("spark_processes"), pytest.mark.timeout(600)]

# A second application goes on from the checkpoints of the first; it costs half a minute more.
BATCHES = [
    pytest.param([range(40)], id="one-run"),
    pytest.param([range(40), range(40, 50), range(50, 50)], id="three-runs", marks=pytest.mark.soak),
]

FILE = """
pipeline: {topic}
bootstrap_servers: {bootstrap}
spark:
  spark.executor.memory: 512m
  spark.executor.extraJavaOptions: {jvm}
sources:
  orders:
    topic: {topic}
    decode: {{json: {{schema: "id INT NOT NULL, amount DOUBLE"}}}}
    expect:
      - {{name: positive, rule: amount > 0, otherwise: dead-letter}}
steps:
  - name: big
    from: orders
    python: "steps.py:big"
outputs:
  history: {{from: orders, table: ./lake}}
  big: {{from: big, topic: {topic}-big, key: id}}
"""
# A Python function that runs in the workers, from a file that only the driver can see.
STEPS = """
from pyspark.sql.functions import udf

def is_big(amount):
    return amount > 5

def big(orders):
    return orders.filter(udf(is_big, "boolean")("amount")).select("id", "amount")
"""


class Deployed:
    """A pipeline file over a topic of its own, run by the command against some Spark."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.bootstrap = bootstrap
        self.directory = directory
        self.topic = new_topic(bootstrap, partitions=2)
        (directory / "shop.yaml").write_text(
            FILE.format(topic=self.topic, bootstrap=bootstrap, jvm=SMALL_JVM)
        )
        (directory / "steps.py").write_text(STEPS)

    def produce(self, numbers: Iterable[int]) -> None:
        """Every tenth order is refused, and of the others every amount over 5 is big."""
        for number in numbers:
            value = json.dumps({"id": number, "amount": number % 10}).encode()
            produce(self.bootstrap, self.topic, [value], partition=number % 2)

    def run(self, *where: str) -> str:
        command = [
            sys.executable,
            "-m",
            "penstock.cli.main",
            "pipeline",
            "run",
            "shop.yaml",
            "--once",
            *where,
        ]
        bare = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))
        }
        done = subprocess.run(
            command, cwd=self.directory, env=bare, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    def assert_each_once(self, numbers: Iterable[int]) -> None:
        good = [number for number in numbers if number % 10]
        table = DeltaTable(str(self.directory / "lake")).to_pyarrow_table()
        assert sorted(table["id"].to_pylist()) == good
        big = [
            json.loads(each.value() or b"")["id"]
            for each in committed_messages(self.bootstrap, f"{self.topic}-big")
        ]
        assert sorted(big) == [number for number in good if number % 10 > 5]
        dead = [
            json.loads(each.value() or b"")["id"]
            for each in committed_messages(self.bootstrap, f"{self.topic}.dlq")
        ]
        assert sorted(dead) == [number for number in numbers if number % 10 == 0]


@pytest.fixture
def deployed(shared_broker: BrokerProcess, tmp_path: Path) -> Deployed:
    return Deployed(shared_broker.bootstrap, tmp_path)


@pytest.mark.soak  # master, worker, driver and executor are four JVMs: a minute and a half on two cores
@pytest.mark.parametrize("batches", BATCHES)
def test_a_standalone_cluster_runs_the_file_and_every_record_comes_out_once(
    deployed: Deployed, tmp_path: Path, batches: Sequence[range]
) -> None:
    with standalone_cluster(tmp_path / "cluster", workers=2) as master:
        for numbers in batches:
            deployed.produce(numbers)
            deployed.run("--master", master)
    deployed.assert_each_once(range(batches[-1].stop))
    with_executors = {work.parent.parent.name for work in tmp_path.glob("cluster/worker-*/work/app-*")}
    assert with_executors == {"worker-0", "worker-1"}


@pytest.mark.parametrize("batches", BATCHES)
def test_a_connect_server_runs_the_file_and_every_record_comes_out_once(
    deployed: Deployed, tmp_path: Path, batches: Sequence[range]
) -> None:
    with connect_server(tmp_path / "server", free_port()) as remote:
        for numbers in batches:
            deployed.produce(numbers)
            output = deployed.run("--remote", remote)
            dead = sum(number % 10 == 0 for number in numbers)
            assert not dead or f"{dead} dead letters" in output
    deployed.assert_each_once(range(batches[-1].stop))
