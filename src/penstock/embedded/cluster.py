"""A cluster inside one process, to be broken on purpose: how does an application take the death of a broker?

    with Cluster(3, topics={"orders": 3}) as cluster:
        cluster.kill(cluster.leader("orders", 0))

Every node has a thread, an event loop, a port and a disk of its own; they talk over the loopback interface.
"""

import os
import time
from collections.abc import Callable, Mapping

from penstock.cluster.metadata.state import Partition
from penstock.embedded.hosted import Hosted, Setting, Storage
from penstock.embedded.node import Node

_QUICK: Mapping[str, Setting] = {  # a test does not want to wait long until a dead node is missed
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": 1500,
    "replica.lag.time.max.ms": 2000,
}

_PATIENCE_S = 30.0
_LOOK_AGAIN_S = 0.005


class Cluster(Hosted):
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
        """End a node as a crash does: connections are reset, and in memory what was not synced is lost."""
        self._node(node).kill()

    def stop_node(self, node: int) -> None:
        """Stop a node as an operator does: it hands its leaderships over before."""
        self._node(node).stop()

    def restart(self, node: int) -> None:
        """Start a node again, on the same address and with its disk; one that runs is stopped before."""
        self._node(node).stop()
        self._node(node).start()

    def partition(self, one: int, other: int) -> None:
        """Cut the link between two nodes, both ways and in silence, until `heal`. Clients still reach both."""
        self._links.cut(self._node(one).port, self._node(other).port)

    def isolate(self, node: int) -> None:
        """Cut a node off from all others."""
        for other in self.nodes:
            if other != node:
                self.partition(node, other)

    def slow(self, node: int, delay_ms: float) -> None:
        """Let a node take every request, of clients and of other nodes, and send its own, so much later; 0 ends it."""
        self._links.slow_down(self._node(node).port, delay_ms)

    def fail_disk(self, node: int) -> None:
        """Let every write and sync of a node fail until `heal`.

        When it notices, others lead what they can of what it led. It takes part again when it is started again.
        """
        self._node(node).place.fail()

    def heal(self) -> None:
        """End cuts, slowness, and the failing of disks. Nodes that were killed are for `restart`."""
        self._links.heal()
        for node in self.nodes.values():
            node.place.mend()

    # -- who is who -----------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition; waits until one that runs does."""
        return self._await(
            lambda: self._running(self._newest(topic, partition).leader), f"a leader of {topic}-{partition}"
        )

    def in_sync(self, topic: str, partition: int = 0) -> set[int]:
        """The nodes that are in sync with the leader of a partition."""
        return set(self._newest(topic, partition).isr)

    @property
    def controller(self) -> int:
        """The node that leads the metadata quorum; waits until one that runs does."""
        return self._await(self._quorum_leader, "a controller")

    def _quorum_leader(self) -> int | None:
        views = [node.quorum_leader() for node in self.nodes.values() if node.is_running]
        leader = max(views, default=(0, None), key=lambda view: view[0])[1]
        return None if leader is None else self._running(leader)

    def _newest(self, topic: str, partition: int) -> Partition:
        """What the best informed of the nodes knows: one that is cut off is behind."""
        views = [node.partition(topic, partition) for node in self.nodes.values() if node.is_running]
        known = [view for view in views if view is not None]
        if not known:
            raise ValueError(f"no node knows of {topic}-{partition}")
        return max(known, key=lambda view: view.partition_epoch)

    def _running(self, number: int) -> int | None:
        return number if number in self.nodes and self.nodes[number].is_running else None

    def _await(self, look: Callable[[], int | None], what: str) -> int:
        deadline_s = time.monotonic() + _PATIENCE_S
        while (found := look()) is None:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"the cluster has not got {what} within {_PATIENCE_S} s")
            time.sleep(_LOOK_AGAIN_S)
        return found

    def _node(self, number: int) -> Node:
        if number not in self.nodes:
            raise ValueError(f"there is no node {number}: they are {', '.join(map(str, self.nodes))}")
        return self.nodes[number]

    # -- start ----------------------------------------------------------------------------------------

    def _start_nodes(self) -> None:
        """One after the other: a quorum takes in one voter at a time, and who comes too early has to wait."""
        first, *others = self.nodes.values()
        first.start()
        for number, node in enumerate(others, start=2):
            node.start(join=first)
            first.await_voters(range(1, number + 1))
        for node in others:
            node.await_voters(self.nodes)
