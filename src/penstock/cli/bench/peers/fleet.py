"""The servers of a run: each is started when it is first wanted, shared by the workloads, and ended with the run."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence

from penstock.cli.bench.peers.agents import ClientFailed, ask
from penstock.cli.bench.peers.board import Board
from penstock.cli.bench.peers.servers.running import NotStarted, Running
from penstock.cli.bench.peers.targets import TARGETS, Target, server_named
from penstock.cli.bench.peers.tasks import Task, Where

# What a peer or its client may do wrong without ending the run.
PEER_FAILURES = (ClientFailed, NotStarted, OSError)


class Fleet:
    def __init__(self, new_path: Callable[[str], str], say: Callable[[str], None], wanted: str = "") -> None:
        self._new_path = new_path
        self._say = say
        self._wanted = [word.strip().lower() for word in wanted.split(",") if word.strip()]
        self._running: dict[str, Running] = {}
        self._directories: list[str] = []
        self.absent: dict[str, str] = {}  # servers that cannot be had or did not start, and why
        self.versions: dict[str, str] = {}

    def targets(self, chosen: Callable[[Target], bool] = lambda _: True) -> list[Target]:
        """The wanted targets whose server this machine has."""
        found = []
        for target in TARGETS:
            if not self._is_wanted(target) or not chosen(target):
                continue
            server = server_named(target.server)
            reason = server.missing()
            if reason is not None:
                self.absent[server.name] = reason
            if server.name not in self.absent:
                self.versions[server.name] = server.version()
                found.append(target)
        return found

    def _is_wanted(self, target: Target) -> bool:
        return not self._wanted or any(word in target.name.lower() for word in self._wanted)

    def running(self, target: Target) -> Running:
        """The target's server; raises `NotStarted` when it does not start, now or earlier."""
        name = target.server
        if name in self.absent:
            raise NotStarted(self.absent[name])
        if name not in self._running:
            self._say(f"starting {name}")
            directory = self.new_directory()
            try:
                self._running[name] = server_named(name).start(directory, self._new_path("server.log"))
            except (NotStarted, OSError) as error:
                self.absent[name] = str(error)
                raise NotStarted(str(error)) from error
        return self._running[name]

    def new_directory(self) -> str:
        """A data directory that is removed at the end of the run."""
        directory = self._new_path("peer")
        os.mkdir(directory)
        self._directories.append(directory)
        return directory

    @contextlib.contextmanager
    def streams(
        self, name: str, board: Board, targets: Sequence[Target], *, groups: int = 0, partitions: int = 1
    ) -> Iterator[dict[Target, Where]]:
        """A stream on each target, removed afterwards. A target that fails is told on the board and left out."""
        places: dict[Target, Where] = {}
        for number, target in enumerate(targets):
            try:
                host, port = self.running(target).address
                where = Where(
                    dialect=server_named(target.server).dialect,
                    host=host,
                    port=port,
                    stream=f"{name}-{number}",
                    options=target.options,
                    groups=groups,
                    partitions=partitions,
                )
                ask(Task(where=where, operation="create"))
            except PEER_FAILURES as error:
                board.fail(target, str(error))
            else:
                places[target] = where
        everywhere = dict(places)
        try:
            yield places
        finally:
            for where in everywhere.values():
                with contextlib.suppress(*PEER_FAILURES):
                    ask(Task(where=where, operation="remove"))

    def close(self) -> None:
        for running in self._running.values():
            running.kill()
        self._running.clear()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)
