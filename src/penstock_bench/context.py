"""The context of a workload: sizes, a scratch directory, servers to load, a board for its values, and progress."""

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence

from penstock_bench import process
from penstock_bench.board import Board
from penstock_bench.peers.fleet import PEER_FAILURES, Fleet
from penstock_bench.peers.targets import Target
from penstock_bench.peers.tasks import Where
from penstock_bench.raw_client import RawClient
from penstock_bench.scale import Scale


class NotMeasured(Exception):
    """The rest of a workload is not measured; the message says why."""


class Bench:
    """`on_message` and `on_round` report progress. `peers` names the targets to compare with. `against` is the
    directory that holds the package `penstock` of another commit. `board` takes the values of the current workload.
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
        self.board = Board()
        self._on_message = on_message
        self._on_round = on_round
        self._numbers = itertools.count()
        self._deadline = time.monotonic() + scale.minutes_max * 60

    def log(self, what: str) -> None:
        """Report progress. Raises `NotMeasured` when the run has taken too long."""
        if time.monotonic() > self._deadline:
            raise NotMeasured(f"the run reached its limit of {self.scale.minutes_max:g} minutes")
        self._on_message(what)

    def rounds(self, what: str, count: int | None = None) -> Iterator[int]:
        count = self.scale.rounds if count is None else count
        for number in range(count):
            self._on_round(number, count)
            self.log(f"{what}: round {number + 1} of {count}")
            yield number
        self._on_round(count, count)

    def compare(
        self,
        what: str,
        measure: Callable[..., None],
        targets: Sequence[Target] | None = None,
        *,
        count: int = 1,
        partitions: int = 1,
        warm_up: bool = False,
        prepare: Callable[[Target, Where], None] = lambda _target, _where: None,
        measure_reference: Callable[[], None] = lambda: None,
    ) -> None:
        """Create a stream on each target, and measure the reference and each target with its places in every round."""
        remaining = self.fleet.targets() if targets is None else list(targets)
        places: dict[Target, list[Where]] = {}
        with contextlib.ExitStack() as stack:

            def prepare_stream(target: Target) -> None:
                stream = self.fleet.stream("bench", target, count, partitions=partitions)
                places[target] = stack.enter_context(stream)
                prepare(target, places[target][0])

            self.for_each(remaining, prepare_stream, what)
            warm_up_rounds = self.scale.peers.warm_up_rounds if warm_up else 0
            for number in self.rounds(what, self.scale.peers.rounds + warm_up_rounds):
                self.board.is_warming = number < warm_up_rounds
                measure_reference()
                self.for_each(remaining, lambda target: measure(target, *places[target]), what)

    def for_each(self, targets: list[Target], action: Callable[[Target], None], what: str) -> None:
        """Run the action for each target. A target that fails is noted on the board and removed from the list."""
        for target in list(targets):
            try:
                action(target)
            except PEER_FAILURES as error:
                self.board.fail(target, f"{what}: {error}")
                targets.remove(target)

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

    def start(self, data_dir: str, settings: Sequence[str] = (), **how: str | None) -> process.ServerProcess:
        """Start a broker; `how` as in `process.start_broker`."""
        options = {name: value for name, value in how.items() if value is not None}
        return process.start_broker(data_dir, self.path("broker.log"), settings, **options)

    @contextlib.contextmanager
    def broker(
        self, topics: dict[str, int], settings: Sequence[str] = (), **how: str | None
    ) -> Iterator[tuple[process.ServerProcess, str]]:
        """Run a broker with these topics (name: partitions) in a data directory, and remove both afterwards."""
        with self.directory() as data_dir, self.start(data_dir, settings, **how) as server:
            with RawClient(server.address) as client:
                client.create_topics(topics)
            yield server, data_dir
            server.stop()

    def require_room(self, size_bytes: int, what: str) -> None:
        """Raise `NotMeasured` unless the scratch directory has this much room."""
        room = shutil.disk_usage(self.scratch).free
        if room < size_bytes:
            raise NotMeasured(f"{what} needs {size_bytes / 1e9:g} GB of room; there are {room / 1e9:.1f}")

    def close(self) -> None:
        """Stop all servers of the comparisons."""
        self.fleet.close()
