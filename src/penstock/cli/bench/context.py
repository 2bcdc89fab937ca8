"""What a workload is given: the sizes, a scratch directory, brokers to load, and a way to say how far it is."""

import contextlib
import itertools
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from penstock.cli.bench import process
from penstock.cli.bench.raw_client import RawClient
from penstock.cli.bench.scale import Scale


class OutOfTime(Exception):
    """The run has taken as long as it may."""


class Bench:
    def __init__(self, scale: Scale, scratch: str, tell: Callable[[str], None]) -> None:
        self.scale = scale
        self.scratch = scratch
        self._tell = tell
        self._numbers = itertools.count()
        self._deadline = time.monotonic() + scale.minutes_max * 60

    def say(self, what: str) -> None:
        """Report progress; also the place where a run that takes too long is stopped."""
        if time.monotonic() > self._deadline:
            raise OutOfTime(f"the run was to take no more than {self.scale.minutes_max:g} minutes")
        self._tell(what)

    def rounds(self, what: str) -> Iterator[int]:
        for number in range(self.scale.rounds):
            self.say(f"{what}: round {number + 1} of {self.scale.rounds}")
            yield number

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
    def brokers(self, topics: dict[str, int]) -> Iterator[dict[str, process.ServerProcess]]:
        """A broker of each build that is there, by what its figures are marked with (`process.builds`)."""
        with contextlib.ExitStack() as stack:
            yield {
                mark: stack.enter_context(self.broker(topics, python))[0]
                for mark, python in process.builds().items()
            }

    def room_bytes(self) -> int:
        return shutil.disk_usage(self.scratch).free
