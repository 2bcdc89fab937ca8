"""A cluster of Kafka nodes and Penstock nodes as real processes on loopback, and what an operator does with it."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from penstock.cli.cluster.state import ClusterState, PartitionState, read_cluster
from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock.protocol.messages import alter_partition_reassignments as reassign
from penstock.protocol.messages import create_topics
from penstock.storage.directory.metadata_files import encode_uuid
from tests.support.broker import BrokerProcess
from tests.support.kafka_node import CLUSTER_ID, KafkaNode

REPLICAS: Final = 3
WAIT_S: Final = 120.0
_POLL_S: Final = 0.2
_MAP: Final = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
_COORDINATION: Final = {
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": str(REPLICAS),
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": str(REPLICAS),
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": str(REPLICAS),
    "share.coordinator.state.topic.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "min.insync.replicas": "2",
}


class MixedCluster:
    """Kafka nodes 1 to `count`, which are brokers and voters, and Penstock brokers with other ids."""

    def __init__(
        self,
        directory: Path,
        jars: Path,
        count: int = REPLICAS,
        *,
        has_static_voters: bool = False,
        settings: Mapping[str, str] | None = None,
        client_settings: Mapping[str, str] | None = None,
    ) -> None:
        """With `has_static_voters` the quorum has kraft.version 0. `settings` are those of every node, and
        `client_settings` those of its administrator.
        """
        self._client_settings = dict(client_settings or {})
        self._directory = directory
        self._settings = {**_COORDINATION, **(settings or {})}
        self._has_static_voters = has_static_voters
        self.kafka = {
            number: KafkaNode(directory / f"kafka-{number}", jars, has_static_voters=has_static_voters)
            for number in range(1, count + 1)
        }
        self.penstock: dict[int, BrokerProcess] = {}
        controllers = {number: f"localhost:{node.controller_port}" for number, node in self.kafka.items()}
        if has_static_voters:
            voters = ",".join(f"{number}@{address}" for number, address in controllers.items())
            self._quorum = {"controller.quorum.voters": voters}
        else:
            self._quorum = {"controller.quorum.bootstrap.servers": ",".join(controllers.values())}
        for number, node in self.kafka.items():
            node.write_config({**self._settings, **self._quorum, "node.id": str(number)})

    # -- life

    def start_kafka(self) -> None:
        """Format and start all Kafka nodes, which need a majority to get ready."""
        voters = ",".join(
            f"{number}@localhost:{node.controller_port}:{encode_uuid(_directory_id(number))}"
            for number, node in self.kafka.items()
        )
        quorum = () if self._has_static_voters else ("--initial-controllers", voters)
        for node in self.kafka.values():
            config = str(node.config_path)
            node.run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", config, *quorum)
        with ThreadPoolExecutor(len(self.kafka)) as pool:
            list(pool.map(lambda node: node.start(), self.kafka.values()))

    def new_penstock(
        self,
        number: int,
        *,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> BrokerProcess:
        """A broker that is not started yet, with a file of settings as Kafka's brokers have."""
        home = self._directory / (directory or f"penstock-{number}")
        home.mkdir(parents=True, exist_ok=True)
        config = home / "server.properties"
        node = BrokerProcess(home, config=config, host="localhost", environment=environment)
        values = {
            "process.roles": "broker",
            "node.id": str(number),
            "listeners": f"PLAINTEXT://localhost:{node.port}",
            "advertised.listeners": f"PLAINTEXT://localhost:{node.port}",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": _MAP,
            "log.dirs": str(node.data_dir),
            **self._quorum,
            **self._settings,
            **(settings or {}),
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        return node

    def add_penstock(self, number: int) -> BrokerProcess:
        node = self.penstock[number] = self.new_penstock(number)
        return node.start()

    def close(self) -> None:
        for node in self.penstock.values():
            if node.is_running:
                node.kill()
        for kafka in self.kafka.values():
            if kafka.is_running:
                kafka.kill()

    # -- what operators do

    @property
    def bootstrap(self) -> str:
        nodes: list[KafkaNode | BrokerProcess] = [*self.kafka.values(), *self.penstock.values()]
        return ",".join(each.bootstrap for each in nodes if each.is_running)

    def requests(self) -> RequestClient:
        return RequestClient(
            self.bootstrap, [f"{name}={value}" for name, value in self._client_settings.items()]
        )

    def create_topic(self, name: str, assignment: Sequence[Sequence[int]], **settings: str) -> None:
        """Partition n has the replicas `assignment[n]`."""
        topic = create_topics.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                create_topics.CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
                for number, replicas in enumerate(assignment)
            ],
            configs=[
                create_topics.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in settings.items()
            ],
        )
        with self.requests() as client:
            made = client.ask(create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=30_000)).topics[0]
        assert not made.error_code, (made.error_code, made.error_message)

    def produce(self, topic: str, partition: int, value: bytes) -> None:
        """Append one record, and wait until it is committed."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, **self._client_settings})
        producer.produce(topic, value, partition=partition)
        assert producer.flush(WAIT_S) == 0

    def reassign(self, moves: Mapping[tuple[str, int], Sequence[int]]) -> None:
        """Ask for these replicas."""
        request = reassign.AlterPartitionReassignmentsRequest(
            topics=[
                reassign.ReassignableTopic(
                    name=topic,
                    partitions=[
                        reassign.ReassignablePartition(partition_index=number, replicas=list(replicas))
                    ],
                )
                for (topic, number), replicas in moves.items()
            ]
        )
        with self.requests() as client:
            answer = client.ask(request)
        errors = {
            (each.error_code, each.error_message)
            for topic in answer.responses
            for each in topic.partitions
            if each.error_code
        }
        assert not errors, errors

    def move_all(self, place: Callable[[PartitionState], Sequence[int]]) -> None:
        """Move every partition to the replicas that `place` gives, and wait until they are in sync there.

        Topics named `made-…` come and go meanwhile.
        """
        partitions = [each for each in self.state().partitions if not each.topic.startswith("made-")]
        moves = {(each.topic, each.partition): place(each) for each in partitions}
        self.reassign(moves)
        self.await_state(
            lambda state: all(
                each.replicas == tuple(moves.get((each.topic, each.partition), each.replicas))
                and not each.is_moving
                and not each.is_under_replicated
                for each in state.partitions
                if (each.topic, each.partition) in moves
            )
        )

    def state(self) -> ClusterState:
        with self.requests() as client:
            return read_cluster(client)

    def await_state(self, holds: Callable[[ClusterState], bool], timeout_s: float = WAIT_S) -> ClusterState:
        deadline = time.monotonic() + timeout_s
        state: ClusterState | CommandError | None = None
        while time.monotonic() < deadline:
            try:
                state = self.state()
            except CommandError as error:
                state = error
            else:
                if holds(state):
                    return state
            time.sleep(_POLL_S)
        raise AssertionError(f"the cluster did not get there within {timeout_s} s: {state}")

    def await_healthy(self) -> ClusterState:
        return self.await_state(lambda state: not state.unhealthy)

    # -- data directories

    def data_of(self, number: int) -> Path:
        return self.kafka[number].data_dir if number in self.kafka else self.penstock[number].data_dir


def _directory_id(number: int) -> bytes:
    return b"kafka-directory" + bytes([number])


def segment_bytes(directory: Path) -> bytes:
    """The batches of a partition on one node, without space that was allocated ahead."""
    content = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    end = 0
    while int.from_bytes(content[end + 8 : end + 12], "big"):
        end += 12 + int.from_bytes(content[end + 8 : end + 12], "big")
    return content[:end]
