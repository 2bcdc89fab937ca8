"""The clusters of a run. Each is started at its first use, shared by the workloads, and ended with the run."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from penstock_bench.peers.agents import AdminClients, ClientFailed
from penstock_bench.peers.board import Board
from penstock_bench.peers.clusters import Site
from penstock_bench.peers.clusters.cluster import Cluster
from penstock_bench.peers.clusters.targets import CLUSTER_TARGETS, cluster_named
from penstock_bench.peers.fleet import PEER_FAILURES, Fleet
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Task, Where
from penstock_bench.process import ServerFailed

_CREATED_WITHIN_S: Final = 120.0
_RETRY_S: Final = 0.2


class ClusterFleet:
    """`fleet` knows which products this machine has, and owns the data directories."""

    def __init__(self, fleet: Fleet, new_path: Callable[[str], str], log: Callable[[str], None]) -> None:
        self._fleet = fleet
        self._new_path = new_path
        self._log = log
        self._running: dict[str, Cluster] = {}
        self._admin_clients = AdminClients()
        self._numbers = itertools.count()

    def targets(self, chosen: Callable[[Target], bool] = lambda _: True) -> list[Target]:
        return self._fleet.targets(chosen, CLUSTER_TARGETS, cluster_named)

    def running(self, target: Target) -> Cluster:
        """Return the cluster of the target. Raises `ServerFailed` when it does not start, now or earlier."""
        name = target.server
        if name in self._fleet.absent:
            raise ServerFailed(self._fleet.absent[name])
        if name not in self._running:
            self._log(f"starting {name}")
            site = Site(self._fleet.new_directory(), self._new_path)
            try:
                self._running[name] = Cluster(cluster_named(name), site)
            except (ServerFailed, OSError) as error:
                self._fleet.absent[name] = str(error)
                raise ServerFailed(str(error)) from error
        return self._running[name]

    @contextlib.contextmanager
    def streams(
        self, name: str, board: Board, targets: Sequence[Target], count: int = 1
    ) -> Iterator[dict[Target, list[Where]]]:
        """Create `count` replicated streams or partitions on each target, and delete them afterwards. Each is addressed
        at its leader. A target that fails is noted on the board.
        """
        places: dict[Target, list[Where]] = {}
        try:
            for target in targets:
                try:
                    places[target] = self._create(name, target, count)
                except PEER_FAILURES as error:
                    board.fail(target, str(error))
            yield dict(places)
        finally:
            for made in places.values():
                self._remove(made)

    def _create(self, name: str, target: Target, count: int) -> list[Where]:
        """Retry: a cluster that has just started may refuse until its nodes know each other."""
        cluster = self.running(target)
        wanted = cluster.places(f"{name}-{next(self._numbers)}", count, target.options)
        missing = _one_of_each_stream(wanted)
        deadline = time.monotonic() + _CREATED_WITHIN_S
        while missing:
            try:
                self._admin_clients.run(Task(where=missing[0], operation="create"))
            except ClientFailed:
                # It may exist: perhaps only the answer was lost.
                if not cluster.led([missing[0]]):
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(_RETRY_S)
                    continue
            missing.pop(0)
        return cluster.await_led(wanted)

    def _remove(self, places: Sequence[Where]) -> None:
        for place in _one_of_each_stream(places):
            with contextlib.suppress(*PEER_FAILURES):
                self._admin_clients.run(Task(where=place, operation="remove"))

    def close(self) -> None:
        self._admin_clients.close()
        for cluster in self._running.values():
            cluster.close()
        self._running.clear()


def _one_of_each_stream(places: Sequence[Where]) -> list[Where]:
    """Return one place of each stream: partitions of one topic are created and deleted together."""
    return list({place.stream: place for place in places}.values())
