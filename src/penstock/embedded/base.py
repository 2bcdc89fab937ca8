"""The common base of the embedded broker and the embedded cluster: start, stop and access to topics."""

import atexit
import os
import weakref
from collections.abc import Mapping
from typing import Literal, Self

from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import BrokerError
from penstock.client.settings import ClientSettings
from penstock.embedded.clock import ClusterTime, MovableClock
from penstock.embedded.links import Links
from penstock.embedded.node import Node
from penstock.embedded.node_storage import DirectoryStorage, MemoryStorage, NodeStorage
from penstock.embedded.temporary import TemporaryDirectory
from penstock.embedded.threads import run_in_thread
from penstock.embedded.topics import Record, Topic
from penstock.protocol.errors import ErrorCode

Setting = str | int | float | bool
Storage = Literal["memory", "temporary"]

DEFAULTS: Mapping[str, Setting] = {
    "group.initial.rebalance.delay.ms": 0,  # Kafka waits three seconds for more members of a new group
    "offsets.topic.num.partitions": 1,
    "penstock.journal.bytes": 1 << 20,
    "transaction.state.log.num.partitions": 1,
}

_running: "weakref.WeakSet[EmbeddedBase]" = weakref.WeakSet()


class EmbeddedBase:
    """Nodes are numbered from 1."""

    def __init__(
        self,
        count: int,
        *,
        topics: Mapping[str, int],
        config: Mapping[str, Setting],
        storage: Storage,
        directory: str | os.PathLike[str] | None,
        port: int = 0,
    ) -> None:
        if storage not in ("memory", "temporary"):
            raise ValueError(
                f'storage is "memory" or "temporary", not {storage!r}; directory=… names one of yours'
            )
        self._count = count
        self._topics = dict(topics)
        self._settings = {name: _render(value) for name, value in {**DEFAULTS, **config}.items()}
        self._storage = storage
        self._directory = None if directory is None else os.path.abspath(directory)
        self._port = port
        self._temporary: TemporaryDirectory | None = None
        self._time = ClusterTime()
        self._links = Links()
        self._client: BlockingClient | None = None
        self._process_id = 0
        self.nodes: dict[int, Node] = {}

    # -- start and stop -----------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start; when this returns, all nodes serve and know all topics."""
        if self.nodes:
            raise RuntimeError("it is started already")
        self._process_id = os.getpid()
        _running.add(self)
        try:
            for number in range(1, self._count + 1):
                self.nodes[number] = self._make_node(number)
            self._start_nodes()
            self._client = BlockingClient(
                ClientSettings.from_properties({"bootstrap.servers": self.bootstrap_servers})
            )
            for name, partitions in self._topics.items():
                self.create_topic(name, partitions)
            for node in self.nodes.values():
                node.await_topics(self._topics)
        except BaseException:
            self.stop()
            raise
        return self

    def _start_nodes(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """Stop and remove all data, except in a directory that was given. May be called again."""
        if self._process_id != os.getpid():
            return  # a fork of the process that started it: the threads are the parent's
        _running.discard(self)
        if self._client is not None:
            self._client.close()
            self._client = None
        for node in self.nodes.values():
            node.close(gracefully=self._directory is not None)
        self.nodes.clear()
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await run_in_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await run_in_thread(self.stop)

    def _make_node(self, number: int) -> Node:
        clock = self._time.clock()
        storage = self._node_storage(number, clock)
        return Node(number, storage, self._settings, port=self._port, clock=clock, links=self._links)

    def _node_storage(self, number: int, clock: MovableClock) -> NodeStorage:
        if self._directory is not None:
            return DirectoryStorage(
                self._directory if self._count == 1 else os.path.join(self._directory, f"node-{number}")
            )
        if self._storage == "temporary":
            if self._temporary is None:
                self._temporary = TemporaryDirectory()
            return DirectoryStorage(os.path.join(self._temporary.path, f"node-{number}"))
        return MemoryStorage(clock)

    # -- topics and time ----------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """The addresses for clients' `bootstrap.servers`."""
        if not self.nodes:
            raise RuntimeError("it is not running: use it in a `with` statement, or call start()")
        return ",".join(node.address for node in self.nodes.values())

    @property
    def client(self) -> BlockingClient:
        """The client that the methods below use."""
        if self._client is None:
            raise RuntimeError("it is not running: use it in a `with` statement, or call start()")
        return self._client

    def topic(self, name: str) -> Topic:
        """A topic, whether it exists or not."""
        return Topic(name, self.client)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        *,
        replication_factor: int = -1,
        config: Mapping[str, Setting] | None = None,
    ) -> Topic:
        """Create a topic unless it exists; -1 takes the broker's default."""
        self.client.create_topic(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: _render(value) for key, value in (config or {}).items()},
        )
        return self.topic(name)

    def delete_topic(self, name: str) -> None:
        """Delete a topic, if there is one."""
        try:
            self.client.delete_topic(name)
        except BrokerError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise

    def records(self, topic: str) -> list[Record]:
        """All records of a topic."""
        return self.topic(topic).records()

    def advance(self, delta_ms: float) -> None:
        """Move the time of records, retention, groups and transactions forward, on all nodes."""
        self._time.advance(delta_ms)

    def now_ms(self) -> int:
        """The time of the nodes."""
        return self._time.now_ms()


def _render(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@atexit.register
def _stop_all() -> None:
    """Stop the brokers and clusters that the program has not stopped."""
    for each in list(_running):
        each.stop()
