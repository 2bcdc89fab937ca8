"""What an embedded broker and an embedded cluster share: a life inside the host's process, and a look at topics."""

import atexit
import os
import weakref
from collections.abc import Mapping
from typing import Literal, Self

from penstock.client.blocking.cluster import Cluster as Client
from penstock.client.errors import BrokerError
from penstock.client.settings import ClientSettings
from penstock.embedded.beside import beside_loop
from penstock.embedded.clock import MovableClock, Time
from penstock.embedded.links import Links
from penstock.embedded.node import Node
from penstock.embedded.places import Directory, Memory, Place
from penstock.embedded.temporary import TemporaryDirectory
from penstock.embedded.topics import Record, Topic
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import delete_topics

Setting = str | int | float | bool
Storage = Literal["memory", "temporary"]

DEFAULTS: Mapping[str, Setting] = {
    "group.initial.rebalance.delay.ms": 0,  # Kafka waits three seconds for more members of a new group
    "offsets.topic.num.partitions": 1,
    "penstock.journal.bytes": 1 << 20,
    "transaction.state.log.num.partitions": 1,
}

_running: "weakref.WeakSet[Hosted]" = weakref.WeakSet()


class Hosted:
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
                f'storage is "memory" or "temporary", not {storage!r}; directory=… names a place of yours'
            )
        self._count = count
        self._topics = dict(topics)
        self._settings = {name: _render(value) for name, value in {**DEFAULTS, **config}.items()}
        self._storage = storage
        self._directory = None if directory is None else os.path.abspath(directory)
        self._port = port
        self._temporary: TemporaryDirectory | None = None
        self._time = Time()
        self._links = Links()
        self._client: Client | None = None
        self._process_id = 0
        self.nodes: dict[int, Node] = {}

    # -- life -----------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Serve, with all topics known to all nodes, when this returns."""
        if self.nodes:
            raise RuntimeError("it is started already")
        self._process_id = os.getpid()
        _running.add(self)
        try:
            for number in range(1, self._count + 1):
                self.nodes[number] = self._make_node(number)
            self._start_nodes()
            self._client = Client(
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
        """End, and leave nothing behind; only a directory that was given stays. Does nothing when it has ended."""
        if self._process_id != os.getpid():
            return  # a fork of the process that has started it: the thread, and all the rest, are the parent's
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
        return await beside_loop(self.start)

    async def __aexit__(self, *_: object) -> None:
        await beside_loop(self.stop)

    def _make_node(self, number: int) -> Node:
        clock = self._time.clock()
        place = self._place(number, clock)
        return Node(number, place, self._settings, port=self._port, clock=clock, links=self._links)

    def _place(self, number: int, clock: MovableClock) -> Place:
        if self._directory is not None:
            return Directory(
                self._directory if self._count == 1 else os.path.join(self._directory, f"node-{number}")
            )
        if self._storage == "temporary":
            if self._temporary is None:
                self._temporary = TemporaryDirectory()
            return Directory(os.path.join(self._temporary.path, f"node-{number}"))
        return Memory(clock)

    # -- what a test wants of it ----------------------------------------------------------------------

    @property
    def bootstrap_servers(self) -> str:
        """What clients are given to connect to."""
        if not self.nodes:
            raise RuntimeError("it is not running: use it in a `with` statement, or call start()")
        return ",".join(node.address for node in self.nodes.values())

    @property
    def client(self) -> Client:
        """The connection that the methods below use."""
        if self._client is None:
            raise RuntimeError("it is not running: use it in a `with` statement, or call start()")
        return self._client

    def topic(self, name: str) -> Topic:
        """A topic to look at, whether it exists or not."""
        return Topic(name, self.client)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        *,
        replication_factor: int = -1,
        config: Mapping[str, Setting] | None = None,
    ) -> Topic:
        """Make a topic, unless it is there; -1 leaves a number to the broker's settings."""
        self.client.create_topic(
            name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs={key: _render(value) for key, value in (config or {}).items()},
        )
        return self.topic(name)

    def delete_topic(self, name: str) -> None:
        """Delete a topic, if there is one."""
        request = delete_topics.DeleteTopicsRequest(
            topics=[delete_topics.DeleteTopicState(name=name)],
            topic_names=[name],
            timeout_ms=self.client.settings.request_timeout_ms,
        )
        answer = self.client.call_any(delete_topics.API_KEY, lambda _: request)
        code = answer.responses[0].error_code
        if code not in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise BrokerError(code, f"deleting {name}")

    def records(self, topic: str) -> list[Record]:
        """All that a topic holds now."""
        return self.topic(topic).records()

    def advance(self, delta_ms: float) -> None:
        """Move the time of records, retention, groups and transactions forward, on all nodes."""
        self._time.advance(delta_ms)

    def now_ms(self) -> int:
        """The time as the nodes have it."""
        return self._time.now_ms()


def _render(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@atexit.register
def _stop_all() -> None:
    """Whoever forgot to stop one leaves nothing behind either."""
    for each in list(_running):
        each.stop()
