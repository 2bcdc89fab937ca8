"""One node of an embedded cluster: a broker in its own thread that can be started, stopped and killed.

A node restarts on its port: a bound socket that does not listen reserves the port while the node is down.
"""

import asyncio
import socket
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from penstock.cluster.metadata.state import Partition
from penstock.config.broker import BrokerConfig
from penstock.embedded.links import Links
from penstock.embedded.loop_thread import LoopThread
from penstock.embedded.node_instance import NodeInstance
from penstock.embedded.node_storage import NodeStorage
from penstock.runtime.clock import Clock
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
        storage: NodeStorage,
        settings: Mapping[str, str],
        *,
        clock: Clock,
        links: Links,
        port: int = 0,
    ) -> None:
        self.node_id = node_id
        self.storage = storage
        self._clock = clock
        self._links = links
        self._port = _keep_port(port)
        self._settings = {
            **settings,
            "node.id": str(node_id),
            "log.dirs": storage.directory,
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
        }
        self._thread: LoopThread | None = None
        self._instance: NodeInstance | None = None

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
        return self._instance is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run something on the node's loop."""
        assert self._thread is not None, "the node is not running"
        return self._thread.submit(work)

    @property
    def _broker(self) -> Broker:
        assert self._instance is not None, "the node is not running"
        return self._instance.broker

    @property
    def secret(self) -> bytes:
        """The cluster secret, which a joining node needs."""
        secret = self._broker.secret.value
        assert secret is not None, "a cluster has a secret"
        return secret

    def start(self, join: "Node | None" = None) -> None:
        """Start and serve. `join` is a member of the cluster that this node joins."""
        assert not self.is_running, f"node {self.node_id} runs already"
        instance = NodeInstance(
            BrokerConfig(self._settings),
            self.storage,
            self._clock,
            self._links,
            self.port,
            join=() if join is None else [(join.host, join.port)],
            secret=None if join is None else join.secret,
        )
        self._thread = LoopThread(f"penstock-{self.node_id}")
        try:
            self.submit(instance.broker.start()).result()
        except BaseException:
            self._end(instance.kill(resets=True))
            raise
        self._instance = instance

    def partition(self, topic: str, number: int) -> Partition | None:
        return self._broker.services.controller.image.partition(topic, number) if self.is_running else None

    def quorum_leader(self) -> tuple[int, int | None]:
        """The epoch and the leader of the metadata quorum, as this node knows them."""
        quorum = self._broker.services.quorum
        return quorum.driver.node.epoch, quorum.leader_id

    def await_voters(self, node_ids: Collection[int]) -> None:
        """Wait until these nodes are the voters: before that the quorum does not survive the loss of one."""
        wanted = frozenset(node_ids)
        self._await(lambda broker: frozenset(broker.services.quorum.voter_ids) == wanted)

    def await_topics(self, names: Collection[str]) -> None:
        """Wait until this node's metadata has these topics."""
        self._await(lambda broker: all(name in broker.services.controller.image.topics for name in names))

    def _await(self, holds: Callable[[Broker], bool]) -> None:
        broker = self._broker

        async def wait() -> None:
            async with asyncio.timeout(_JOINING_S_MAX):
                while not holds(broker):  # noqa: ASYNC110 - there is no event for voters
                    await asyncio.sleep(_LOOK_AGAIN_S)

        self.submit(wait()).result()

    def stop(self) -> None:
        if self._instance is not None:
            self._end(self._instance.stop())

    def kill(self) -> None:
        """Crash it, if it runs: connections are reset, data that was not synced may be lost."""
        if self._instance is not None:
            self._end(self._instance.kill(resets=True))

    def _end(self, ending: Coroutine[Any, Any, None]) -> None:
        thread, self._thread, self._instance = self._thread, None, None
        assert thread is not None
        try:
            thread.submit(ending).result()
        finally:
            thread.end()
            self.storage.recover()

    def close(self, *, gracefully: bool) -> None:
        """Stop it for good. If not `gracefully`, it hands no leadership over and syncs nothing."""
        if self._instance is not None:
            self._end(self._instance.stop() if gracefully else self._instance.kill(resets=False))
        self._port.close()


def _keep_port(port: int) -> socket.socket:
    """A socket on a loopback port, a free one for 0. With SO_REUSEADDR the broker can listen there too."""
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind((_HOST, port))
    return kept
