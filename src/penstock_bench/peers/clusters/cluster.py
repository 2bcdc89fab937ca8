"""The nodes of one cluster: started, killed with SIGKILL, and restarted, one by one."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from penstock_bench import process_tree
from penstock_bench.peers.clusters import HOST, NODES, ClusterServer, Site, StreamState
from penstock_bench.peers.servers.running import Helper, PeerProcess
from penstock_bench.peers.tasks import Where
from penstock_bench.process import ServerFailed

_IN_SYNC_WITHIN_S: Final = 180.0
_POLL_INTERVAL_S: Final = 0.1


class Cluster:
    def __init__(self, server: ClusterServer, site: Site) -> None:
        self._server = server
        self._site = site
        self._helpers: list[Helper] = []
        self._nodes: dict[int, PeerProcess] = {}  # running nodes
        try:
            self._start_all()
        except BaseException:
            self.close()
            raise

    def _start_all(self) -> None:
        self._helpers = self._server.prepare(self._site)
        if not self._server.starts_together:
            for number in NODES:
                self.start(number)
            return
        with ThreadPoolExecutor(len(NODES)) as pool:
            list(pool.map(self.start, NODES))

    def start(self, number: int) -> None:
        self._nodes[number] = self._server.start_node(self._site, number)

    def kill(self, number: int) -> None:
        """Kill all processes of the node with SIGKILL."""
        self._nodes.pop(number).kill()

    def close(self) -> None:
        for number in list(self._nodes):
            self.kill(number)
        for helper in self._helpers:
            helper.kill()
            helper.wait()
        self._helpers.clear()

    def places(self, stream: str, count: int, options: dict[str, str]) -> list[Where]:
        """Return `count` places with three replicas: partitions of one topic, or streams without partitions."""
        host, port = HOST, self._site.ports[NODES[0]]
        template = Where(
            dialect=self._server.dialect,
            host=host,
            port=port,
            stream=stream,
            options=options,
            replicas=len(NODES),
        )
        replace = msgspec.structs.replace
        if self._server.dialect == "kafka":
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
        try:
            states = self._server.stream_states(self._site, sorted(self._nodes), places)
        except (ServerFailed, OSError):
            return []
        if len(states) < len(places) or not all(_is_healthy(state) for state in states):
            return []
        return [self._at(place, state.leader) for place, state in zip(places, states, strict=True)]

    def _at(self, place: Where, leader: int) -> Where:
        others = tuple(self._site.address(number) for number in NODES if number != leader)
        return msgspec.structs.replace(place, port=self._site.ports[leader], others=others)

    def leader_of(self, place: Where) -> int:
        """Return the node that a place of `await_led` is addressed at."""
        return next(number for number, port in self._site.ports.items() if port == place.port)

    def cpu_s(self) -> float:
        return sum(node.cpu_s() for node in self._nodes.values())

    def cpu_since(self, before_s: float) -> float:
        """Return the processor time of all nodes since then, at least one tick of the kernel's clock."""
        return max(self.cpu_s() - before_s, process_tree.TICK_S)


def _is_healthy(state: StreamState) -> bool:
    return state.leader in NODES and state.in_sync == len(NODES)
