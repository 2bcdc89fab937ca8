"""Three nodes of a product that are one cluster on loopback, under one interface for all products.

A module for each product starts nodes and finds the leader of a stream (`ClusterServer`). `cluster.py` runs the nodes:
it starts, kills and restarts them. `fleet.py` has the clusters of a run and creates replicated streams.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from penstock_bench.peers.servers.running import Helper, PeerProcess, Product, free_port
from penstock_bench.peers.tasks import Where

NODES: Final = (1, 2, 3)
HOST: Final = "127.0.0.1"


class Site:
    """Directories and ports of the nodes, by number. A node keeps them when it is started again."""

    def __init__(self, directory: str, new_path: Callable[[str], str]) -> None:
        self._directory = directory
        self._new_path = new_path
        self.ports = {number: free_port() for number in NODES}  # for clients
        self.peer_ports = {number: free_port() for number in NODES}  # for the other nodes

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


class ClusterServer(Product, Protocol):
    """A product of which several nodes can be one cluster."""

    starts_together: bool  # a node gets ready only when others run

    def prepare(self, site: Site) -> list[Helper]:
        """Called once, before the first node starts. Returns helper processes that all nodes share."""

    def start_node(self, site: Site, number: int) -> PeerProcess:
        """Start a node, for the first time or after it was killed."""

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        """Ask the living nodes for the state of each place. Raises `OSError` or `ServerFailed` when none answers."""
