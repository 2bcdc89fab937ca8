"""Several real broker processes that are one cluster, to be killed, stopped and started again one by one."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from penstock.cli.cluster.state import read_quorum
from penstock.cli.connect.requests import RequestClient
from tests.support.broker import BrokerProcess
from tests.support.namespaces import NamespaceNetwork

T = TypeVar("T")

_COORDINATOR_MOVES = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
)

QUICK = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}


class ClusterProcesses:
    """Nodes are numbered from 1. The first is started alone, the others join it.

    They share the loopback interface, or have a namespace each in a network that can be cut.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        network: NamespaceNetwork | None = None,
    ) -> None:
        self._directory = directory
        self.network = network
        self._settings = {**QUICK, **(settings or {})}
        self.nodes: dict[int, BrokerProcess] = {}

    def add(self, number: int) -> BrokerProcess:
        """Start a node that is new to the cluster."""
        arguments = ["--node-id", str(number)]
        if self.nodes:
            arguments += ["--join", next(iter(self.nodes.values())).bootstrap]
        node = self._process(number, arguments)
        self.nodes[number] = node
        return node.start()

    def _process(self, number: int, arguments: list[str]) -> BrokerProcess:
        directory = self._directory / f"node-{number}"
        if self.network is None:
            return BrokerProcess(directory, settings=self._settings, arguments=arguments)
        self.network.add(number)
        return BrokerProcess(
            directory,
            settings=self._settings,
            arguments=arguments,
            host=self.network.address(number),
            within=self.network.command_within(number),
        )

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> None:
        topic = NewTopic(name, partitions, min(3, len(self.nodes)), config=config)
        admin = self.admin()  # kept until the answer has come
        admin.create_topics([topic])[name].result(30)

    def leader_of(self, topic: str, partition: int = 0, bootstrap: str | None = None) -> int:
        """The leader, as any node knows it or as the one named does; -1 when there is none."""
        return int(self._partitions(topic, bootstrap)[partition].leader)

    def await_leaders(self, topic: str, leaders: Sequence[int]) -> None:
        """Until every node knows that so many partitions of the topic are led by each of these brokers."""

        def are_known_to(node: BrokerProcess) -> bool:
            found = self._partitions(topic, node.bootstrap).values()
            return sorted(each.leader for each in found) == sorted(leaders)

        eventually(lambda: all(map(are_known_to, self.nodes.values())), f"{topic} is led by {leaders}")

    def controller(self) -> int:
        """The node that leads the metadata quorum. Metadata does not name it: any broker accepts admin requests."""
        with RequestClient(self.bootstrap) as client:
            return read_quorum(client).leader

    def in_sync(self, topic: str, bootstrap: str | None = None) -> list[set[int]]:
        """The in-sync set of each partition, as any node knows it or as the one named does."""
        partitions = self._partitions(topic, bootstrap)
        return [set(partitions[number].isrs) for number in sorted(partitions)]

    def _partitions(self, topic: str, bootstrap: str | None) -> dict[int, PartitionMetadata]:
        """A new client for each request: an older one may ask a stopped broker, and fail."""
        admin = AdminClient({"bootstrap.servers": bootstrap or self.bootstrap, "log_level": 0})
        return dict(admin.list_topics(topic, timeout=10).topics[topic].partitions)

    def await_in_sync(self, topic: str) -> None:
        """Until every running node knows that every running node is in sync with every partition.

        One that was cut off has outdated metadata for a while.
        """
        running = {number: node for number, node in self.nodes.items() if node.is_running}

        def is_known_to(node: BrokerProcess) -> bool:
            return all(running.keys() <= found for found in self.in_sync(topic, node.bootstrap))

        eventually(lambda: all(map(is_known_to, running.values())), f"all in sync: {topic}")

    def suspend(self, number: int) -> None:
        os.kill(self.nodes[number].pid, signal.SIGSTOP)

    def resume(self, number: int) -> None:
        os.kill(self.nodes[number].pid, signal.SIGCONT)

    def stop(self) -> None:
        for node in self.nodes.values():
            if node.is_running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(node.pid, signal.SIGCONT)
                node.kill()


@contextlib.contextmanager
def running_cluster(
    directory: Path,
    count: int = 3,
    settings: Mapping[str, str] | None = None,
    network: NamespaceNetwork | None = None,
) -> Iterator[ClusterProcesses]:
    cluster = ClusterProcesses(directory, settings, network)
    try:
        for number in range(1, count + 1):
            cluster.add(number)
        yield cluster
    finally:
        cluster.stop()


def eventually(condition: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    """Poll until it is true: other processes send no notification."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)


def retry_while_coordinator_moves(call: Callable[[], T]) -> T:
    """Retry while the group's coordinator is being replaced: librdkafka reports that to its caller."""
    results: list[T] = []

    def is_done() -> bool:
        try:
            results.append(call())
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() not in _COORDINATOR_MOVES:
                raise
        return bool(results)

    eventually(is_done, "an answer of the coordinator")
    return results[0]
