"""Several brokers on this machine that are one cluster, to be killed and started again one by one."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Final

from penstock.cli.bench import process
from penstock.cli.bench.peers.servers.running import free_port
from penstock.cli.bench.peers.tasks import Where
from penstock.cli.cluster_facts import ClusterFacts, Operator
from penstock.cli.cluster_moves import elect_preferred, misled
from penstock.cli.errors import CommandError

_LOOK_S: Final = 0.02
_WITHIN_S: Final = 300.0


class NotInTime(Exception):
    """The cluster did not become what was waited for; the message says what."""


class LocalCluster:
    """Nodes are numbered from 1; the first is started alone, the others join it. Each keeps its port."""

    def __init__(self, directory: str, new_path: Callable[[str], str], settings: Sequence[str] = ()) -> None:
        self._directory = directory
        self._new_path = new_path
        self._settings = settings
        self._ports: dict[int, int] = {}
        self.nodes: dict[int, process.ServerProcess] = {}  # those that run

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
        """SIGKILL; gives when."""
        node = self.nodes.pop(number)
        at_s = time.perf_counter()
        node.kill()
        return at_s

    def close(self) -> None:
        for node in self.nodes.values():
            node.end()
        self.nodes.clear()

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def where(self, stream: str, *, partitions: int = 1) -> Where:
        """A topic of three replicas, of which two must have what is acknowledged."""
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

    def facts(self) -> ClusterFacts:
        operator = Operator(self.bootstrap, [])
        try:
            return operator.facts()
        finally:
            operator.close()

    def controller(self) -> int:
        """The node that leads the metadata quorum; -1 when none does."""
        try:
            operator = Operator(self.bootstrap, [])
            try:
                return operator.quorum().leader
            finally:
                operator.close()
        except CommandError:
            return -1

    def await_in_sync(self) -> None:
        """Until every partition has all of its replicas in sync."""
        self.wait_until(lambda: not self.facts().unhealthy, "all replicas in sync")

    def balance(self) -> None:
        """Wait until all replicas are in sync, and have every partition led where it should be."""
        self.await_in_sync()
        operator = Operator(self.bootstrap, [])
        try:
            elect_preferred(operator, misled(operator.facts().partitions))
        finally:
            operator.close()

    def wait_until(self, is_so: Callable[[], bool], what: str, within_s: float = _WITHIN_S) -> float:
        """Look again and again; gives when it was so."""
        deadline = time.perf_counter() + within_s
        while True:
            try:
                if is_so():
                    return time.perf_counter()
            except CommandError:  # nobody answers yet
                pass
            if time.perf_counter() > deadline:
                raise NotInTime(f"not within {within_s:g} s: {what}")
            time.sleep(_LOOK_S)
