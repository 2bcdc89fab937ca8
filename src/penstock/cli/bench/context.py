"""What a workload is given: the sizes, a scratch directory, brokers to load, and a way to say how far it is."""

import contextlib
import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from penstock.cli.bench import process
from penstock.cli.bench.local_cluster import LocalCluster
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.clusters.fleet import ClusterFleet
from penstock.cli.bench.peers.fleet import PEER_FAILURES, Fleet
from penstock.cli.bench.peers.targets import Target
from penstock.cli.bench.raw_client import RawClient
from penstock.cli.bench.scale import Scale

P = TypeVar("P")


class OutOfTime(Exception):
    """The run has taken as long as it may."""


class Bench:
    """`step` is told how many rounds of a workload are done, and of how many; `peers` names the targets wanted."""

    def __init__(
        self,
        scale: Scale,
        scratch: str,
        tell: Callable[[str], None],
        step: Callable[[int, int], None] = lambda _done, _all: None,
        peers: str = "",
    ) -> None:
        self.scale = scale
        self.scratch = scratch
        self.fleet = Fleet(self.path, self.say, peers)
        self.clusters = ClusterFleet(self.fleet, self.path, self.say)
        self.board = Board()
        self._tell = tell
        self._step = step
        self._numbers = itertools.count()
        self._deadline = time.monotonic() + scale.minutes_max * 60

    def say(self, what: str) -> None:
        """Report progress; also the place where a run that takes too long is stopped."""
        if time.monotonic() > self._deadline:
            raise OutOfTime(f"the run was to take no more than {self.scale.minutes_max:g} minutes")
        self._tell(what)

    def new_board(self) -> Board:
        """Where a workload writes what it measured, so that it is not lost when the workload is not finished."""
        self.board = Board()
        return self.board

    def rounds(self, what: str, count: int | None = None) -> Iterator[int]:
        count = self.scale.rounds if count is None else count
        for number in range(count):
            self._step(number, count)
            self.say(f"{what}: round {number + 1} of {count}")
            yield number
        self._step(count, count)

    def peer_rounds(
        self,
        what: str,
        board: Board,
        places: dict[Target, P],
        measure: Callable[[Target, P], None],
        *,
        warm_up_rounds: int = 0,
        measure_reference: Callable[[], None] = lambda: None,
    ) -> None:
        """Measure the reference and each target once in every round. A target that fails is noted on the board and
        takes no further part.
        """
        for number in self.rounds(what, self.scale.peers.rounds + warm_up_rounds):
            board.is_warming = number < warm_up_rounds
            measure_reference()
            for target, where in list(places.items()):
                try:
                    measure(target, where)
                except PEER_FAILURES as error:
                    board.fail(target, f"{what}: {error}")
                    del places[target]

    def path(self, name: str) -> str:
        """A path in the scratch directory that nobody else has."""
        return os.path.join(self.scratch, f"{next(self._numbers)}-{name}")

    @contextlib.contextmanager
    def directory(self) -> Iterator[str]:
        """A data directory, removed afterwards."""
        path = self.path("data")
        os.mkdir(path)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def start(
        self, data_dir: str, settings: Sequence[str] = (), python: str = sys.executable
    ) -> process.ServerProcess:
        return process.start_broker(data_dir, self.path("broker.log"), settings, python)

    @contextlib.contextmanager
    def broker(
        self, topics: dict[str, int], python: str = sys.executable
    ) -> Iterator[tuple[process.ServerProcess, str]]:
        """A broker with these topics (name: partitions), and its data directory; both are gone afterwards."""
        with self.directory() as data_dir, self.start(data_dir, python=python) as server:
            with RawClient(server.address) as client:
                client.create_topics(topics)
            yield server, data_dir
            server.stop()

    @contextlib.contextmanager
    def cluster(self, count: int = 3, settings: Sequence[str] = ()) -> Iterator[LocalCluster]:
        """Brokers of one cluster, gone afterwards with all they wrote."""
        with self.directory() as directory:
            made = LocalCluster(directory, self.path, settings)
            with contextlib.closing(made):
                for number in range(1, count + 1):
                    made.start(number)
                yield made

    @contextlib.contextmanager
    def brokers(self, topics: dict[str, int]) -> Iterator[dict[str, process.ServerProcess]]:
        """A broker of each build that is there, by what its figures are marked with (`process.builds`)."""
        with contextlib.ExitStack() as stack:
            yield {
                mark: stack.enter_context(self.broker(topics, python))[0]
                for mark, python in process.builds().items()
            }

    def close(self) -> None:
        """End all servers of the comparisons."""
        self.clusters.close()
        self.fleet.close()

    def room_bytes(self) -> int:
        return shutil.disk_usage(self.scratch).free
