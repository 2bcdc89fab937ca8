"""One node of an embedded cluster: the broker as it is, on a thread of its own, to be started, stopped and killed.

A node is started again on the port it had: a socket that is bound and does not listen keeps that port from everybody
else while the node is down.
"""

import asyncio
import contextlib
import resource
import socket
import struct
import weakref
from collections.abc import Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.client.connection import Connection
from penstock.cluster.metadata.state import Partition
from penstock.config.broker import BrokerConfig
from penstock.config.listeners import Endpoint
from penstock.embedded.links import Links, NodeNetwork, SlowDispatch
from penstock.embedded.loop_thread import LoopThread
from penstock.embedded.places import Place
from penstock.gateway.dialects import dialects
from penstock.observability.clock import Clock, SystemClock
from penstock.observability.offload import ThreadOffload
from penstock.server.broker import Broker
from penstock.server.connection_host import Tracked
from penstock.server.server import Server
from penstock.storage.compaction_worker import Compactor, OffloadedCompactor

T = TypeVar("T")

_RESET_ON_CLOSE = struct.pack(
    "ii", 1, 0
)  # SO_LINGER, 0 seconds: the peer sees a reset, as when a machine dies
_DYING_S_MAX = 5.0
_JOINING_S_MAX = 30.0
_LOOK_AGAIN_S = 0.005
_DESCRIPTORS_MAX = 1 << 20
_HOST = "127.0.0.1"


class Node:
    """`settings` are the broker's, by Kafka's names; the address is chosen here."""

    def __init__(
        self,
        node_id: int,
        place: Place,
        settings: Mapping[str, str],
        *,
        clock: Clock,
        links: Links,
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.place = place
        self._clock = clock
        self._links = links
        self._port = _keep_port(port)
        self._settings = {
            **settings,
            "node.id": str(node_id),
            "log.dirs": place.directory,
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
        }
        self._thread: LoopThread | None = None
        self._broker: EmbeddedBroker | None = None

    @property
    def host(self) -> str:
        return str(self._port.getsockname()[0])

    @property
    def port(self) -> int:
        return int(self._port.getsockname()[1])

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._broker is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run something on the node's loop."""
        assert self._thread is not None, "the node is not running"
        return self._thread.submit(work)

    @property
    def secret(self) -> bytes:
        """That of the cluster, which a node that joins must know."""
        assert self._broker is not None, "the node is not running"
        secret = self._broker.secret.value
        assert secret is not None, "a cluster has a secret"
        return secret

    def start(self, join: "Node | None" = None) -> None:
        """Serve when this returns. `join` is a member of the cluster that this node is new to."""
        assert not self.is_running, f"node {self.node_id} runs already"
        broker = EmbeddedBroker(
            BrokerConfig(self._settings),
            self.place,
            clock=self._clock,
            network=NodeNetwork(self._links, self.port),
            join=() if join is None else [(join.host, join.port)],
            secret=None if join is None else join.secret,
        )
        self._thread = LoopThread(f"penstock-{self.node_id}")
        try:
            self.submit(broker.start()).result()
        except BaseException:
            self._end(broker.die(resets=True))
            raise
        self._broker = broker

    def partition(self, topic: str, number: int) -> Partition | None:
        """What this node knows of a partition."""
        return (
            None if self._broker is None else self._broker.services.controller.image.partition(topic, number)
        )

    def quorum_leader(self) -> tuple[int, int | None]:
        """The epoch of the metadata quorum as this node knows it, and who leads in it."""
        assert self._broker is not None, "the node is not running"
        quorum = self._broker.services.quorum
        return quorum.driver.node.epoch, quorum.leader_id

    def await_voters(self, node_ids: Collection[int]) -> None:
        """Wait until the quorum consists of these: only then does it outlive one of them."""
        assert self._broker is not None, "the node is not running"
        self.submit(self._broker.has_voters(frozenset(node_ids))).result()

    def await_topics(self, names: Collection[str]) -> None:
        """Wait until this node knows of these topics: metadata reaches one node before the other."""
        assert self._broker is not None, "the node is not running"
        self.submit(self._broker.has_topics(names)).result()

    def stop(self) -> None:
        """Stop gracefully, if it runs."""
        if self._broker is not None:
            self._end(self._broker.retire())

    def kill(self) -> None:
        """End it as a crash does, if it runs: connections are reset, what was not synced may be lost."""
        if self._broker is not None:
            self._end(self._broker.die(resets=True))

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        thread, self._thread, self._broker = self._thread, None, None
        assert thread is not None
        try:
            thread.submit(ending).result()
        finally:
            thread.end()
            self.place.recover()

    def close(self, *, gracefully: bool) -> None:
        """End it for good. Where nobody needs its data, it hands nothing over and syncs nothing."""
        if self._broker is not None:
            self._end(self._broker.retire() if gracefully else self._broker.die(resets=False))
        self._port.close()


class EmbeddedBroker(Broker):
    """Changes nothing of the process around it, and can be killed inside it."""

    def __init__(
        self,
        config: BrokerConfig,
        place: Place,
        *,
        clock: Clock,
        network: NodeNetwork,
        join: Sequence[tuple[str, int]],
        secret: bytes | None,
    ) -> None:
        self._place = place
        self._network = network
        self._outgoing: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._offloads: list[ThreadOffload] = []
        self._listening: Server | None = None
        super().__init__(
            config,
            dialects=dialects,
            files=place.files,
            clock=clock,
            liveness=SystemClock(),
            join=join,
            secret=secret,
        )

    async def has_voters(self, node_ids: frozenset[int]) -> None:
        """Return when it is so."""
        async with asyncio.timeout(_JOINING_S_MAX):
            # The quorum tells nobody of its voters.
            while frozenset(self.services.quorum.driver.node.voters.ids) != node_ids:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_AGAIN_S)

    async def has_topics(self, names: Collection[str]) -> None:
        """Return when it is so."""
        async with asyncio.timeout(_JOINING_S_MAX):
            while not all(name in self.services.controller.image.topics for name in names):  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_AGAIN_S)

    # -- the end --------------------------------------------------------------------------------------

    async def retire(self) -> None:
        """Stop gracefully, and leave nothing on the loop."""
        try:
            await self.stop()
        finally:
            await self.die(resets=False)

    async def die(self, *, resets: bool) -> None:
        """From the first step on nothing of it reaches disk or network; in the end nothing is left on the loop.

        `resets`: clients are to see that it died, and not an orderly end of their connections.
        """
        self._place.cut()
        # What runs on a dead node fails in any place, and that is nothing to report.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        for tracked in list(self.connections):
            if resets:
                _reset_on_close(tracked)
            tracked.abort()
        for connection in self._outgoing:
            connection.abort()
        self._cleanup.pop_all()
        if self._listening is not None:
            await self._listening.stop(0)
        mine = asyncio.current_task()
        others = [each for each in asyncio.all_tasks() if each is not mine]
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_DYING_S_MAX)
        for offload in self._offloads:
            offload.close()

    # -- parts that differ from those of a process of its own -----------------------------------------

    def _descriptor_limit(self) -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return _DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft

    def _threads(self, count: int, name: str) -> ThreadOffload:
        offload = self._place.offload(count, name)
        self._offloads.append(offload)
        return offload

    def _ring(self) -> None:
        return None  # it could not be closed while a sync is under way

    def _compactor(self, reads: ThreadOffload) -> Compactor:
        return OffloadedCompactor(self._place.files, reads)

    def _server(self) -> Server:
        self._listening = super()._server()
        host = self._listening._host  # noqa: SLF001 - the broker takes no dispatcher as an argument
        host.dispatcher = SlowDispatch(host.dispatcher, self._network.delay_s)
        return self._listening

    async def _dial(self, endpoint: Endpoint) -> Connection:
        await self._network.passable(endpoint.port)
        connection = await super()._dial(endpoint)
        self._network.watch_over(connection, endpoint.port)
        self._outgoing.add(connection)
        return connection


def _reset_on_close(tracked: Tracked) -> None:
    transport: asyncio.Transport | None = getattr(tracked, "_transport", None)
    channel = None if transport is None else transport.get_extra_info("socket")
    if channel is not None:
        with contextlib.suppress(OSError):
            channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)


def _keep_port(port: int) -> socket.socket:
    """A socket on a port of the loopback interface, a free one for 0. Who sets SO_REUSEADDR may listen there, too."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind((_HOST, port))
    return kept
