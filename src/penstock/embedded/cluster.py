"""A cluster inside one process, to be broken on purpose: how does an application take the death of a broker?

    with Cluster(3, topics={"orders": 3}) as cluster:
        cluster.kill(cluster.leader("orders", 0))

Every node has a thread, an event loop, a port and a disk of its own; they talk over the loopback interface.
"""

import os
from collections.abc import Mapping

from penstock.client.blocking.metadata import TopicPartition
from penstock.embedded.hosted import Hosted, Setting, Storage
from penstock.embedded.node import Node

_QUICK: Mapping[str, Setting] = {  # a test does not want to wait long until a dead node is missed
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": 1500,
}


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
        """Let every write and sync of a node fail until `heal`. What has failed there comes back with a `restart`."""
        self._node(node).place.fail()

    def heal(self) -> None:
        """End cuts, slowness, and the failing of disks. Nodes that were killed are for `restart`."""
        self._links.heal()
        for node in self.nodes.values():
            node.place.mend()

    # -- who is who -----------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads a partition; waits until there is one."""
        where = TopicPartition(topic, partition)
        self.client.forget_leader(where)
        return self.client.until_done(
            f"looking for the leader of {where}", lambda: self.client.leader(where)
        ).node_id

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
            node.start([(first.host, first.port)])
            first.await_voters(range(1, number + 1))
        for node in others:
            node.await_voters(self.nodes)
