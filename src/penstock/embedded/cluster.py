"""A cluster inside one process, with faults: for tests of an application's behaviour when a broker dies.

    with Cluster(3, topics={"orders": 3}) as cluster:
        cluster.kill(cluster.leader("orders", 0))

Every node has its own thread, event loop, port and disk; they talk over the loopback interface.
"""

import os
import time
from collections.abc import Callable, Mapping

from penstock.cluster.metadata.state import Partition
from penstock.embedded.base import EmbeddedBase, Setting, Storage
from penstock.embedded.node import Node

_QUICK: Mapping[str, Setting] = {  # a dead node is detected quickly
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": 1500,
    "replica.lag.time.max.ms": 2000,
}

_WAIT_S_MAX = 30.0
_POLL_S = 0.005


class Cluster(EmbeddedBase):
    """See `Broker` for the arguments. Topics have three replicas, or as many as there are nodes."""

    def __init__(
        self,
        count: int = 3,
        *,
        topics: Mapping[str, int] | None = None,
        config: Mapping[str, Setting] | None = None,
        storage: Storage = "memory",
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        if count < 1:
            raise ValueError(f"a cluster has one node at least, not {count}")
        settings = {**_QUICK, "default.replication.factor": min(3, count), **(config or {})}
        super().__init__(count, topics=topics or {}, config=settings, storage=storage, directory=directory)

    # -- faults ---------------------------------------------------------------------------------------

    def kill(self, node: int) -> None:
        """Crash a node: connections are reset, and in memory data that was not synced is lost."""
        self._node(node).kill()

    def stop_node(self, node: int) -> None:
        """Stop a node gracefully: it hands its leaderships over first."""
        self._node(node).stop()

    def restart(self, node: int) -> None:
        """Start a node again, on the same address and with its disk; a running one is stopped first."""
        self._node(node).stop()
        self._node(node).start()

    def partition(self, one: int, other: int) -> None:
        """Cut the link between two nodes in both directions until `heal`. Clients still reach both."""
        self._links.cut(self._node(one).port, self._node(other).port)

    def isolate(self, node: int) -> None:
        """Cut a node off from all others."""
        for other in self.nodes:
            if other != node:
                self.partition(node, other)

    def slow(self, node: int, delay_ms: float) -> None:
        """Delay every request to a node, of clients and of other nodes, and every request it sends; 0 ends it."""
        self._links.slow_down(self._node(node).port, delay_ms)

    def fail_disk(self, node: int) -> None:
        """Make every write and sync of a node fail until `heal`.

        Its leaderships move to other nodes where possible. It takes part again after a `restart`.
        """
        self._node(node).storage.fail()

    def heal(self) -> None:
        """End cuts, delays and disk failures. Killed nodes need a `restart`."""
        self._links.heal()
        for node in self.nodes.values():
            node.storage.repair()

    # -- leaders -----------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int = 0) -> int:
        """The leader of a partition; waits until a running node leads it."""
        return self._await(
            lambda: self._running(self._newest(topic, partition).leader), f"a leader of {topic}-{partition}"
        )

    def in_sync(self, topic: str, partition: int = 0) -> set[int]:
        """The in-sync replicas of a partition."""
        return set(self._newest(topic, partition).isr)

    @property
    def controller(self) -> int:
        """The leader of the metadata quorum; waits until a running node leads it."""
        return self._await(self._quorum_leader, "a controller")

    def _quorum_leader(self) -> int | None:
        views = [node.quorum_leader() for node in self.nodes.values() if node.is_running]
        leader = max(views, default=(0, None), key=lambda view: view[0])[1]
        return None if leader is None else self._running(leader)

    def _newest(self, topic: str, partition: int) -> Partition:
        """The newest state that a running node knows: an isolated node is behind."""
        views = [node.partition(topic, partition) for node in self.nodes.values() if node.is_running]
        known = [view for view in views if view is not None]
        if not known:
            raise ValueError(f"no node knows {topic}-{partition}")
        return max(known, key=lambda view: view.partition_epoch)

    def _running(self, number: int) -> int | None:
        return number if number in self.nodes and self.nodes[number].is_running else None

    def _await(self, find: Callable[[], int | None], what: str) -> int:
        deadline_s = time.monotonic() + _WAIT_S_MAX
        while (found := find()) is None:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the cluster has not elected {what} within {_WAIT_S_MAX} s")
            time.sleep(_POLL_S)
        return found

    def _node(self, number: int) -> Node:
        if number not in self.nodes:
            raise ValueError(f"there is no node {number}: they are {', '.join(map(str, self.nodes))}")
        return self.nodes[number]

    # -- start ----------------------------------------------------------------------------------------

    def _start_nodes(self) -> None:
        """One after the other: a quorum adds one voter at a time."""
        first, *others = self.nodes.values()
        first.start()
        for number, node in enumerate(others, start=2):
            node.start(join=first)
            first.await_voters(range(1, number + 1))
        for node in others:
            node.await_voters(self.nodes)
