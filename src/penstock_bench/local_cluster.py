"""Brokers on this machine that form one cluster. They can be killed and restarted one by one."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final

from penstock.cli.cluster.moves import elect_preferred, without_preferred_leader
from penstock.cli.cluster.state import ClusterState, read_cluster, read_quorum
from penstock.cli.connect.requests import RequestClient
from penstock.cli.errors import CommandError
from penstock_bench import process
from penstock_bench.peers.servers.running import free_port
from penstock_bench.peers.tasks import Where

_POLL_INTERVAL_S: Final = 0.02
_WITHIN_S: Final = 300.0


class ClusterTimeout(Exception):
    """The cluster did not reach the expected state in time; the message names it."""


class LocalCluster:
    """Nodes are numbered from 1; the first is started alone, the others join it. Each keeps its port."""

    def __init__(self, directory: str, new_path: Callable[[str], str], settings: Sequence[str] = ()) -> None:
        self._directory = directory
        self._new_path = new_path
        self._settings = settings
        self._ports: dict[int, int] = {}
        self.nodes: dict[int, process.ServerProcess] = {}  # running nodes

    def start(self, number: int) -> process.ServerProcess:
        is_new = number not in self._ports
        arguments = ["--node-id", str(number)]
        if is_new and self.nodes:
            arguments += ["--join", next(iter(self.nodes.values())).bootstrap]
        port = self._ports.setdefault(number, free_port())
        self.nodes[number] = process.start_broker(
            os.path.join(self._directory, f"node-{number}"),
            self._new_path(f"node-{number}.log"),
            self._settings,
            port=port,
            arguments=arguments,
        )
        return self.nodes[number]

    def kill(self, number: int) -> float:
        """Kill the node with SIGKILL, and return the time of the kill."""
        node = self.nodes.pop(number)
        at_s = time.perf_counter()
        node.kill()
        return at_s

    def close(self) -> None:
        for node in self.nodes.values():
            node.kill()
        self.nodes.clear()

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def where(self, stream: str, *, partitions: int = 1) -> Where:
        """Return a topic with three replicas and `min.insync.replicas=2`."""
        host, port = next(iter(self.nodes.values())).address
        return Where(
            dialect="kafka",
            host=host,
            port=port,
            stream=stream,
            partitions=partitions,
            replicas=3,
            options={"min.insync.replicas": "2"},
        )

    def facts(self) -> ClusterState:
        with RequestClient(self.bootstrap) as client:
            return read_cluster(client)

    def controller(self) -> int:
        """Return the node that leads the metadata quorum, -1 when there is none."""
        try:
            with RequestClient(self.bootstrap) as client:
                return read_quorum(client).leader
        except CommandError:
            return -1

    def await_in_sync(self) -> None:
        """Wait until all replicas of every partition are in sync."""
        self.wait_until(lambda: not self.facts().unhealthy, "all replicas in sync")

    def balance(self) -> None:
        """Wait until all replicas are in sync, and elect the preferred leaders."""
        self.await_in_sync()
        with RequestClient(self.bootstrap) as client:
            elect_preferred(client, without_preferred_leader(read_cluster(client).partitions))

    def wait_until(self, is_so: Callable[[], bool], what: str, within_s: float = _WITHIN_S) -> float:
        """Poll until the condition holds, and return when it did."""
        deadline = time.perf_counter() + within_s
        while True:
            try:
                if is_so():
                    return time.perf_counter()
            except CommandError:  # no broker answers yet
                pass
            if time.perf_counter() > deadline:
                raise ClusterTimeout(f"not within {within_s:g} s: {what}")
            time.sleep(_POLL_INTERVAL_S)
