"""The nodes of one product on loopback, one alone or several as a cluster: started, killed and restarted one by one."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.process import ServerFailed, ServerProcess, Usage, free_port

HOST: Final = "127.0.0.1"
_IN_SYNC_WITHIN_S: Final = 180.0
_POLL_INTERVAL_S: Final = 0.1

Helper = subprocess.Popen[bytes]
"""A process that a product needs besides its servers."""


class Site:
    """Directories and ports of the nodes, by number from 1. A node keeps them when it is started again."""

    def __init__(self, directory: str, new_path: Callable[[str], str], nodes: int, port: int = 0) -> None:
        self._directory = directory
        self._new_path = new_path
        self.numbers = tuple(range(1, nodes + 1))
        self.ports = {number: port or free_port() for number in self.numbers}  # for clients
        self.peer_ports = {number: free_port() for number in self.numbers}  # for the other nodes

    def directory(self, number: int) -> str:
        path = os.path.join(self._directory, f"node-{number}")
        os.makedirs(path, exist_ok=True)
        return path

    def new_log_path(self, number: int) -> str:
        return self._new_path(f"node-{number}.log")

    def address(self, number: int) -> str:
        return f"{HOST}:{self.ports[number]}"


class StreamState(msgspec.Struct, frozen=True):
    """The state of a stream or partition: its leader, 0 while there is none, and how many replicas are in sync."""

    leader: int
    in_sync: int


class Product:
    """A product that may be installed on this machine, with `nodes` servers."""

    dialect: Dialect
    starts_together = False  # a node gets ready only when others run

    def __init__(self, name: str, nodes: int = 1) -> None:
        self.name = name
        self.nodes = nodes

    def missing(self) -> str | None:
        """Return why it cannot run on this machine, or None."""
        return None

    def version(self) -> str:
        raise NotImplementedError

    def prepare(self, site: Site) -> list[Helper]:  # noqa: ARG002 - nothing to prepare
        """Called before the first node starts. Returns helper processes that all nodes share."""
        return []

    def start_node(self, site: Site, number: int) -> ServerProcess:
        """Start a node, for the first time or again. It accepts connections when this returns."""
        raise NotImplementedError

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        """Ask the living nodes for the state of each place. Raises `OSError` or `ServerFailed` when none answers."""
        raise NotImplementedError


def read_version(*command: str) -> str:
    """Return the output of a command that prints a version."""
    # A program found on this machine, with fixed arguments.
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    return (done.stdout + done.stderr).strip()


class Cluster:
    def __init__(self, product: Product, site: Site) -> None:
        self._product = product
        self._site = site
        self._helpers: list[Helper] = []
        self.nodes: dict[int, ServerProcess] = {}  # running nodes
        try:
            self._helpers = product.prepare(site)
            with ThreadPoolExecutor(len(site.numbers) if product.starts_together else 1) as pool:
                list(pool.map(self.start, site.numbers))
        except BaseException:
            self.close()
            raise

    def start(self, number: int) -> None:
        self.nodes[number] = self._product.start_node(self._site, number)

    def kill(self, number: int) -> float:
        """Kill all processes of the node with SIGKILL, and return the time of the kill."""
        node = self.nodes.pop(number)
        at_s = time.perf_counter()
        node.kill()
        return at_s

    def stop(self) -> float:
        """Stop the nodes, and return how many seconds that took."""
        return sum(self.nodes.pop(number).stop() for number in list(self.nodes))

    def close(self) -> None:
        """Kill all nodes and helpers."""
        for number in list(self.nodes):
            self.kill(number)
        for helper in self._helpers:
            helper.kill()
            helper.wait()
        self._helpers = []

    @property
    def address(self) -> tuple[str, int]:
        return HOST, self._site.ports[1]

    @property
    def started_at(self) -> float:
        return self.nodes[1].started_at

    def places(
        self, stream: str, options: dict[str, str], count: int = 1, *, partitions: int = 1, groups: int = 0
    ) -> list[Where]:
        """Return `count` places: partitions of one topic, or streams without partitions. A node alone has one place,
        with all `partitions` of its stream.
        """
        replicas = len(self._site.numbers)
        template = Where(
            dialect=self._product.dialect,
            host=HOST,
            port=self._site.ports[1],
            stream=stream,
            options=options,
            partitions=partitions,
            groups=groups,
            replicas=replicas,
        )
        replace = msgspec.structs.replace
        if replicas == 1:
            return [template]
        if self._product.dialect == "kafka":
            return [replace(template, partitions=count, only_partition=number) for number in range(count)]
        return [replace(template, stream=f"{stream}-{number}") for number in range(count)]

    def await_led(self, places: Sequence[Where]) -> list[Where]:
        """Wait until all replicas of every place are in sync, and return the places addressed at their leaders."""
        deadline = time.monotonic() + _IN_SYNC_WITHIN_S
        while not (found := self.led(places)):
            if time.monotonic() > deadline:
                raise ServerFailed(f"not all replicas were in sync within {_IN_SYNC_WITHIN_S:g} s")
            time.sleep(_POLL_INTERVAL_S)
        return found

    def led(self, places: Sequence[Where]) -> list[Where]:
        """Return the places addressed at their leaders; nothing unless all replicas are in sync."""
        if len(self._site.numbers) == 1:
            return list(places)
        try:
            states = self._product.stream_states(self._site, sorted(self.nodes), places)
        except (ServerFailed, OSError):
            return []
        numbers = self._site.numbers
        healthy = [each for each in states if each.leader in numbers and each.in_sync == len(numbers)]
        if len(healthy) < len(places):
            return []
        return [self._at(place, state.leader) for place, state in zip(places, states, strict=True)]

    def _at(self, place: Where, leader: int) -> Where:
        others = tuple(self._site.address(number) for number in self._site.numbers if number != leader)
        return msgspec.structs.replace(place, port=self._site.ports[leader], others=others)

    def leader_of(self, place: Where) -> int:
        """Return the node that a place of `await_led` is addressed at."""
        return next(number for number, port in self._site.ports.items() if port == place.port)

    def pids(self) -> list[int]:
        """Return the ids of all processes."""
        helpers = [helper.pid for helper in self._helpers]
        return [*helpers, *(pid for node in self.nodes.values() for pid in node.pids())]

    def memory_mib(self) -> float:
        """Return the mean resident memory of a node."""
        return sum(node.memory_mib() for node in self.nodes.values()) / len(self.nodes)

    @contextlib.contextmanager
    def usage(self) -> Iterator[Usage]:
        """Measure what all nodes use in the `with` block."""
        total = Usage()
        with contextlib.ExitStack() as stack:
            parts = [stack.enter_context(node.usage()) for node in self.nodes.values()]
            yield total
        total.took_s = max(part.took_s for part in parts)
        total.cpu_s = sum(part.cpu_s for part in parts)
