"""A cluster whose nodes, all of them brokers and voters, are replaced one by one as an operator does it."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaError, TopicPartition

from penstock.cli.cluster.state import QuorumState, read_quorum
from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.messages import incremental_alter_configs
from penstock.storage.directory.metadata_files import read_meta
from penstock.storage.files import RealFileSystem
from tests.interop.kafka.mixed import REPLICAS, WAIT_S, MixedCluster
from tests.support.broker import BrokerProcess, free_port
from tests.support.kafka_node import CLUSTER_ID, KafkaNode

JOINS_VOTERS: Final = {"controller.quorum.auto.join.enable": "true"}
_CLI: Final = "from penstock.cli.main import main; main()"
_CLI_TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.2
_MAP: Final = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"


class RollingCluster(MixedCluster):
    """It begins with `count` nodes of Kafka. A new node of either kind becomes a voter by itself (KIP-1186)."""

    def __init__(
        self, directory: Path, jars: Path, count: int = REPLICAS, settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(directory, jars, count, settings={**JOINS_VOTERS, **(settings or {})})
        self.home, self._all_jars = directory, jars
        self._node_settings = {**JOINS_VOTERS, **(settings or {})}
        self.controllers = {
            number: f"localhost:{node.controller_port}" for number, node in self.kafka.items()
        }
        """The addresses of the controllers that belong to the cluster."""
        self.cluster_id = CLUSTER_ID
        self._planned: dict[int, BrokerProcess] = {}

    # -- the quorum

    def quorum(self) -> QuorumState:
        with RequestClient(self.bootstrap) as client:
            return read_quorum(client)

    @property
    def leader(self) -> int:
        return self.quorum().leader

    def await_quorum(self, holds: Callable[[QuorumState], bool], what: str) -> QuorumState:
        deadline = time.monotonic() + WAIT_S
        found: QuorumState | CommandError | None = None
        while time.monotonic() < deadline:
            try:
                found = self.quorum()
            except CommandError as error:
                found = error
            else:
                if holds(found):
                    return found
            time.sleep(_POLL_S)
        raise AssertionError(f"{what} is not so within {WAIT_S} s: {found}")

    def await_voters(self, *numbers: int) -> None:
        def are_voters(quorum: QuorumState) -> bool:
            return {each.node for each in quorum.nodes if each.is_voter} == set(numbers)

        self.await_quorum(are_voters, f"the voters are {numbers}")

    # -- nodes that come and go

    def plan_penstock(self, *numbers: int) -> str:
        """The addresses that nodes will have: clients name the nodes to come among their bootstrap servers."""
        for number in numbers:
            home = self.home / f"penstock-{number}"
            home.mkdir(parents=True, exist_ok=True)
            self._planned[number] = BrokerProcess(home, config=home / "server.properties", host="localhost")
        return ",".join(self._planned[number].bootstrap for number in numbers)

    def found(self, number: int, **settings: str) -> BrokerProcess:
        """Start the first node of a cluster of Penstock, which nodes of Kafka may join."""
        node = self.add_penstock_voter(number, **{"penstock.allow.kafka.nodes": "true", **settings})
        meta = read_meta(RealFileSystem(), str(node.data_dir))
        assert meta is not None
        self.cluster_id = meta.cluster_id
        return node

    def add_penstock_voter(self, number: int, **settings: str) -> BrokerProcess:
        """Start a new node of Penstock that is a broker and becomes a voter."""
        if number not in self._planned:
            self.plan_penstock(number)
        node = self.penstock[number] = self._planned[number]
        config = self.home / f"penstock-{number}" / "server.properties"
        controller = f"localhost:{free_port()}"
        listeners = f"PLAINTEXT://localhost:{node.port},CONTROLLER://{controller}"
        values = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "listeners": listeners,
            "advertised.listeners": listeners,
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": _MAP,
            "log.dirs": str(node.data_dir),
            "controller.quorum.bootstrap.servers": ",".join([*self.controllers.values()] or [controller]),
            **self._settings,
            **settings,
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        node.start()
        self.controllers[number] = controller
        return node

    def add_kafka_voter(self, number: int, port: int | None = None, **settings: str) -> KafkaNode:
        """Start a new node of Kafka that is a broker and becomes a voter; `port` is one that clients know already."""
        node = self.kafka[number] = KafkaNode(self.home / f"kafka-{number}", self._all_jars)
        controller = f"localhost:{node.controller_port}"
        node.port = port or node.port
        listeners = f"PLAINTEXT://localhost:{node.port},CONTROLLER://{controller}"
        node.write_config(
            {
                **self._settings,
                "node.id": str(number),
                "listeners": listeners,
                "advertised.listeners": listeners,
                "controller.quorum.bootstrap.servers": ",".join(self.controllers.values()),
                **settings,
            }
        )
        config = str(node.config_path)
        node.run_tool(
            *("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", config),
            "--no-initial-controllers",
        )
        node.start()
        self.controllers[number] = controller
        return node

    def add_kafka_broker(self, number: int, **settings: str) -> KafkaNode:
        """Start a new node of Kafka that is a broker only."""
        node = self.kafka[number] = KafkaNode(self.home / f"kafka-{number}", self._all_jars)
        listeners = f"PLAINTEXT://localhost:{node.port}"
        node.write_config(
            {
                **self._settings,
                "process.roles": "broker",
                "controller.quorum.auto.join.enable": "false",
                "node.id": str(number),
                "listeners": listeners,
                "advertised.listeners": listeners,
                "controller.quorum.bootstrap.servers": ",".join(self.controllers.values()),
                **settings,
            }
        )
        node.run_tool("kafka.tools.StorageTool", "format", "-t", self.cluster_id, "-c", str(node.config_path))
        return node.start()

    def node(self, number: int) -> KafkaNode | BrokerProcess:
        return self.kafka[number] if number in self.kafka else self.penstock[number]

    def replace(self, old: int, new: int) -> None:
        """Move every replica of one broker to another; topics may come and go meanwhile."""
        while moves := {
            (each.topic, each.partition): [new if at == old else at for at in each.replicas]
            for each in self.state().partitions
            if old in each.replicas and not each.topic.startswith("made-")
        }:
            self.reassign(moves)
            self.await_state(
                lambda state, moves=moves: all(  # type: ignore[misc]
                    not each.is_moving and old not in each.replicas
                    for each in state.partitions
                    if (each.topic, each.partition) in moves
                )
            )
        self.await_state(lambda state: all(old not in each.replicas for each in state.partitions))

    def remove(self, number: int) -> None:
        """Stop a node that holds nothing, and remove it from the cluster."""
        self.node(number).terminate()
        self.kafka.pop(number, None)
        self.penstock.pop(number, None)
        del self.controllers[number]
        self.run_cli("cluster", "remove", str(number), "--force")

    def values(self, topic: str, partition: int) -> list[bytes]:
        """The values of all records of a partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        found: list[bytes] = []
        try:
            consumer.assign([TopicPartition(topic, partition, 0)])
            deadline = time.monotonic() + WAIT_S
            while time.monotonic() < deadline:
                for message in consumer.consume(1000, _POLL_S):
                    if message.error() is None:
                        found.append(message.value())
                    elif message.error().code() == KafkaError._PARTITION_EOF:
                        return found
        finally:
            consumer.close()
        raise AssertionError(f"{topic}-{partition} could not be read to its end: {found}")

    def allow_kafka_nodes(self, *, is_allowed: bool = True) -> None:
        """Let nodes of Kafka join a cluster that has none."""
        value = str(is_allowed).lower()
        self._change(ResourceType.BROKER, "", "penstock.allow.kafka.nodes", value)

    def change_topic(self, topic: str, name: str, value: str) -> None:
        self._change(ResourceType.TOPIC, topic, name, value)

    def _change(self, kind: ResourceType, resource_name: str, name: str, value: str) -> None:
        setting = incremental_alter_configs.AlterableConfig(name=name, value=value)
        resource = incremental_alter_configs.AlterConfigsResource(
            resource_type=kind, resource_name=resource_name, configs=[setting]
        )
        with RequestClient(self.bootstrap) as client:
            answer = client.ask(
                incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource])
            )
        assert not answer.responses[0].error_code, answer

    def run_cli(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _CLI, *arguments, "--bootstrap-server", self.bootstrap],
            capture_output=True,
            text=True,
            timeout=_CLI_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout
