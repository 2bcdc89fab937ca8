"""Kafka's own tools against a mixed cluster, through either kind of node."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.cli.conftest import run_command
from tests.interop.kafka.mixed import MixedCluster
from tests.interop.kafka.test_joining import ONE_REPLICA, SMALL_SNAPSHOTS, write_metadata
from tests.support.plugin import require_kafka

KINDS = ("kafka", "penstock")
TRANSACTIONS = 4


class Stage:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.cluster = MixedCluster(
            directory, require_kafka(), 1, settings={**ONE_REPLICA, **SMALL_SNAPSHOTS}
        )

    def address(self, kind: str) -> str:
        return self.cluster.kafka[1].bootstrap if kind == "kafka" else self.cluster.penstock[11].bootstrap

    def tool(self, kind: str, name: str, *arguments: str) -> str:
        """Run a tool through a kind of node; returns its output without its log."""
        words = ["--bootstrap-server", self.address(kind), *arguments]
        text = self.cluster.kafka[1].run_tool(f"org.apache.kafka.tools.{name}", *words)
        return "\n".join(
            line for line in text.splitlines() if not re.match(r"\d\d:\d\d:\d\d|\t\w+\.|\s*$", line)
        )


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Kafka's node 1, and Penstock's 11 and 12, which have joined with a snapshot of Kafka's metadata."""
    stage = Stage(tmp_path_factory.mktemp("cluster"))
    cluster = stage.cluster
    try:
        cluster.start_kafka()
        write_metadata(cluster)
        for number in (11, 12):
            cluster.add_penstock(number)
        for kind in KINDS:
            cluster.create_topic(f"of-{kind}", [[1, 11], [11, 12], [12, 1]])
        cluster.await_healthy()
        yield stage
    finally:
        cluster.close()


def test_a_broker_joins_with_a_snapshot_of_kafkas_metadata(stage: Stage) -> None:
    fetched = [
        path.name for path in (stage.cluster.data_of(11) / "__cluster_metadata-0").glob("*.checkpoint")
    ]
    assert fetched
    assert sum(each.topic.startswith("many-") for each in stage.cluster.state().partitions) == 40


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_topics_and_reassign_partitions(stage: Stage, kind: str) -> None:
    topic = f"of-{kind}"
    plan = stage.directory / f"{kind}.json"
    moves = [
        {"topic": topic, "partition": 0, "replicas": [11, 12]},
        {"topic": topic, "partition": 1, "replicas": [1, 11]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    words = ("--reassignment-json-file", str(plan))
    stage.tool(kind, "reassign.ReassignPartitionsCommand", *words, "--execute", "--throttle", "50000000")
    stage.cluster.await_healthy()
    verified = stage.tool(kind, "reassign.ReassignPartitionsCommand", *words, "--verify")
    assert verified.count("is completed") == len(moves)
    described = stage.tool(kind, "TopicCommand", "--describe", "--topic", topic)
    replicas = re.findall(r"Partition: (\d)\s.*Replicas: ([\d,]+)", described)
    assert replicas == [("0", "11,12"), ("1", "1,11"), ("2", "12,1")]


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_metadata_quorum_and_features(stage: Stage, kind: str) -> None:
    status = stage.tool(kind, "MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", status)
    observers = re.search(r"CurrentObservers:(.*)", status)
    assert observers is not None
    assert '"id": 11' in observers[1]
    assert '"id": 12' in observers[1]
    finalized = {
        described: set(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", text))
        for described in KINDS
        for text in [stage.tool(described, "FeatureCommand", "describe")]
    }
    assert finalized["kafka"] == finalized["penstock"]
    assert ("metadata.version", "4.3-IV0") in finalized[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_broker_api_versions(stage: Stage, kind: str) -> None:
    shown = stage.tool(kind, "BrokerApiVersionsCommand")
    assert sorted(re.findall(r"\(id: (\d+) .* -> \(", shown)) == ["1", "11", "12"]


@pytest.mark.parametrize("kind", KINDS)
def test_transactions_of_javas_client_and_kafka_consumer_groups(stage: Stage, kind: str) -> None:
    """Java's client adds partitions with its first record (KIP-890); its coordinators are on both kinds of nodes."""
    topic, count = f"of-{kind}", 200
    for number in range(TRANSACTIONS):
        words = ("--topic", topic, "--num-records", str(count), "--record-size", "50", "--throughput", "500")
        identity = ("--transactional-id", f"{kind}-{number}", "--transaction-duration-ms", "100")
        stage.tool(kind, "ProducerPerformance", *words, *identity)
    assert committed(stage.address(kind), topic) == TRANSACTIONS * count
    for protocol in ("classic", "consumer"):
        stage.tool(
            kind,
            "consumer.ConsoleConsumer",
            *("--topic", topic, "--group", f"{kind}-{protocol}", "--from-beginning", "--max-messages", "100"),
            *("--timeout-ms", "30000", "--command-property", f"group.protocol={protocol}"),
        )
    groups = stage.tool(kind, "consumer.group.ConsumerGroupCommand", "--describe", "--all-groups")
    assert set(re.findall(rf"{kind}-(?:classic|consumer)", groups)) == {f"{kind}-classic", f"{kind}-consumer"}


def committed(bootstrap: str, topic: str) -> int:
    """How many records `read_committed` returns."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "reader",
        "enable.partition.eof": True,
        "log_level": 0,
    }
    consumer = Consumer({**settings, "isolation.level": "read_committed"})
    found, ends = 0, 0
    try:
        consumer.assign([TopicPartition(topic, each, 0) for each in range(3)])
        while ends < 3:
            for message in consumer.consume(500, 30.0):
                found, ends = (found + 1, ends) if message.error() is None else (found, ends + 1)
    finally:
        consumer.close()
    return found


def test_a_broker_of_either_kind_is_drained_and_removed(stage: Stage) -> None:
    cluster = stage.cluster
    penstock, kafka = cluster.penstock[11].bootstrap, cluster.kafka[1].bootstrap
    for number, bootstrap in ((1, penstock), (12, kafka)):
        done = run_command("cluster", "drain", str(number), "--bootstrap-server", bootstrap)
        assert done.returncode == 0, done.stderr
        # The node that is asked may learn of it a moment later than the one that the command used.
        cluster.await_state(
            lambda state, number=number: all(number not in each.replicas for each in state.partitions)  # type: ignore[misc]
        )
    run_command("cluster", "remove", "12", "--bootstrap-server", penstock)
    cluster.await_state(lambda state: [each.id for each in state.brokers] == [1, 11])
