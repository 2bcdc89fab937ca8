"""The context of a workload: sizes, a scratch directory, brokers to load, and progress messages."""

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from penstock_bench import process
from penstock_bench.local_cluster import LocalCluster
from penstock_bench.peers.board import Board
from penstock_bench.peers.clusters.fleet import ClusterFleet
from penstock_bench.peers.fleet import PEER_FAILURES, Fleet
from penstock_bench.peers.targets import Target
from penstock_bench.raw_client import RawClient
from penstock_bench.scale import Scale

P = TypeVar("P")


class TimeLimitReached(Exception):
    """The run has reached its time limit."""


class Bench:
    """`on_message` and `on_round` report progress. `peers` names the targets to compare with. `against` is the
    directory that holds the package `penstock` of another commit.
    """

    def __init__(
        self,
        scale: Scale,
        scratch: str,
        on_message: Callable[[str], None],
        on_round: Callable[[int, int], None] = lambda _done, _all: None,
        peers: str = "",
        *,
        against: str | None = None,
    ) -> None:
        self.scale = scale
        self.scratch = scratch
        self.against = against
        self.fleet = Fleet(self.path, self.log, peers)
        self.clusters = ClusterFleet(self.fleet, self.path, self.log)
        self.board = Board()
        self._on_message = on_message
        self._on_round = on_round
        self._numbers = itertools.count()
        self._deadline = time.monotonic() + scale.minutes_max * 60

    def log(self, what: str) -> None:
        """Report progress. Raises `TimeLimitReached` when the run has taken too long."""
        if time.monotonic() > self._deadline:
            raise TimeLimitReached(f"the run reached its limit of {self.scale.minutes_max:g} minutes")
        self._on_message(what)

    def new_board(self) -> Board:
        """Make a new board for a workload. Its values are reported even when the workload does not finish."""
        self.board = Board()
        return self.board

    def rounds(self, what: str, count: int | None = None) -> Iterator[int]:
        count = self.scale.rounds if count is None else count
        for number in range(count):
            self._on_round(number, count)
            self.log(f"{what}: round {number + 1} of {count}")
            yield number
        self._on_round(count, count)

    def peer_rounds(
        self,
        what: str,
        board: Board,
        places: dict[Target, P],
        measure: Callable[[Target, P], None],
        *,
        warm_up: bool = False,
        measure_reference: Callable[[], None] = lambda: None,
    ) -> None:
        """Measure the reference and each target once in every round. A target that fails is noted on the board and
        not measured again.
        """
        warm_up_rounds = self.scale.peers.warm_up_rounds if warm_up else 0
        for number in self.rounds(what, self.scale.peers.rounds + warm_up_rounds):
            board.is_warming = number < warm_up_rounds
            measure_reference()
            self.for_each_target(what, board, places, measure)

    def for_each_target(
        self, what: str, board: Board, places: dict[Target, P], action: Callable[[Target, P], None]
    ) -> None:
        """Run the action for each target. A target that fails is noted on the board and removed from `places`."""
        for target, place in list(places.items()):
            try:
                action(target, place)
            except PEER_FAILURES as error:
                board.fail(target, f"{what}: {error}")
                del places[target]

    def path(self, name: str) -> str:
        """Return a new, unique path in the scratch directory."""
        return os.path.join(self.scratch, f"{next(self._numbers)}-{name}")

    @contextlib.contextmanager
    def directory(self) -> Iterator[str]:
        """Make a data directory, and remove it afterwards."""
        path = self.path("data")
        os.mkdir(path)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def start(
        self, data_dir: str, settings: Sequence[str] = (), source: str | None = None
    ) -> process.ServerProcess:
        return process.start_broker(data_dir, self.path("broker.log"), settings, source=source)

    @contextlib.contextmanager
    def broker(
        self, topics: dict[str, int], source: str | None = None
    ) -> Iterator[tuple[process.ServerProcess, str]]:
        """Run a broker with these topics (name: partitions) in a data directory, and remove both afterwards."""
        with self.directory() as data_dir, self.start(data_dir, source=source) as server:
            with RawClient(server.address) as client:
                client.create_topics(topics)
            yield server, data_dir
            server.stop()

    @contextlib.contextmanager
    def cluster(self, count: int = 3, settings: Sequence[str] = ()) -> Iterator[LocalCluster]:
        """Run the brokers of one cluster, and remove them with their data afterwards."""
        with self.directory() as directory:
            cluster = LocalCluster(directory, self.path, settings)
            with contextlib.closing(cluster):
                for number in range(1, count + 1):
                    cluster.start(number)
                yield cluster

    def close(self) -> None:
        """Stop all servers of the comparisons."""
        self.clusters.close()
        self.fleet.close()

    def free_bytes(self) -> int:
        return shutil.disk_usage(self.scratch).free
