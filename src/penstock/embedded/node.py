"""One node of an embedded cluster: the broker as it is, on a thread of its own, to be started, stopped and killed.

A node is started again on the port it had: a socket that is bound and does not listen keeps that port from everybody
else while the node is down.
"""

import asyncio
import socket
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.cluster.metadata.state import Partition
from penstock.config.broker import BrokerConfig
from penstock.embedded.guest import Guest
from penstock.embedded.links import Links
from penstock.embedded.loop_thread import LoopThread
from penstock.embedded.places import Place
from penstock.observability.clock import Clock
from penstock.server.broker import Broker

T = TypeVar("T")

_JOINING_S_MAX = 30.0
_LOOK_AGAIN_S = 0.005
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
        self._guest: Guest | None = None

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
        return self._guest is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run something on the node's loop."""
        assert self._thread is not None, "the node is not running"
        return self._thread.submit(work)

    @property
    def _broker(self) -> Broker:
        assert self._guest is not None, "the node is not running"
        return self._guest.broker

    @property
    def secret(self) -> bytes:
        """That of the cluster, which a node that joins must know."""
        secret = self._broker.secret.value
        assert secret is not None, "a cluster has a secret"
        return secret

    def start(self, join: "Node | None" = None) -> None:
        """Serve when this returns. `join` is a member of the cluster that this node is new to."""
        assert not self.is_running, f"node {self.node_id} runs already"
        guest = Guest(
            BrokerConfig(self._settings),
            self.place,
            self._clock,
            self._links,
            self.port,
            join=() if join is None else [(join.host, join.port)],
            secret=None if join is None else join.secret,
        )
        self._thread = LoopThread(f"penstock-{self.node_id}")
        try:
            self.submit(guest.broker.start()).result()
        except BaseException:
            self._end(guest.die(resets=True))
            raise
        self._guest = guest

    def partition(self, topic: str, number: int) -> Partition | None:
        """What this node knows of a partition."""
        return self._broker.services.controller.image.partition(topic, number) if self.is_running else None

    def quorum_leader(self) -> tuple[int, int | None]:
        """The epoch of the metadata quorum as this node knows it, and who leads in it."""
        quorum = self._broker.services.quorum
        return quorum.driver.node.epoch, quorum.leader_id

    def await_voters(self, node_ids: Collection[int]) -> None:
        """Wait until the quorum consists of these: only then does it outlive one of them."""
        wanted = frozenset(node_ids)
        self._await(lambda broker: frozenset(broker.services.quorum.voter_ids) == wanted)

    def await_topics(self, names: Collection[str]) -> None:
        """Wait until this node knows of these topics: metadata reaches one node before the other."""
        self._await(lambda broker: all(name in broker.services.controller.image.topics for name in names))

    def _await(self, is_so: Callable[[Broker], bool]) -> None:
        broker = self._broker

        async def wait() -> None:
            async with asyncio.timeout(_JOINING_S_MAX):
                while not is_so(broker):  # noqa: ASYNC110 - nobody is notified of voters
                    await asyncio.sleep(_LOOK_AGAIN_S)

        self.submit(wait()).result()

    def stop(self) -> None:
        """Stop gracefully, if it runs."""
        if self._guest is not None:
            self._end(self._guest.retire())

    def kill(self) -> None:
        """End it as a crash does, if it runs: connections are reset, what was not synced may be lost."""
        if self._guest is not None:
            self._end(self._guest.die(resets=True))

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        thread, self._thread, self._guest = self._thread, None, None
        assert thread is not None
        try:
            thread.submit(ending).result()
        finally:
            thread.end()
            self.place.recover()

    def close(self, *, gracefully: bool) -> None:
        """End it for good. Where nobody needs its data, it hands nothing over and syncs nothing."""
        if self._guest is not None:
            self._end(self._guest.retire() if gracefully else self._guest.die(resets=False))
        self._port.close()


def _keep_port(port: int) -> socket.socket:
    """A socket on a port of the loopback interface, a free one for 0. Who sets SO_REUSEADDR may listen there, too."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind((_HOST, port))
    return kept
