"""The servers of a run. Each is started at its first use, shared by the workloads, and ended with the run."""

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Sequence

import msgspec

from penstock_bench.peers.agents import AdminClients, ClientFailed
from penstock_bench.peers.board import Board
from penstock_bench.peers.clients import missing_package
from penstock_bench.peers.servers.running import PeerProcess, Product, free_port
from penstock_bench.peers.targets import TARGETS, Target, server_named
from penstock_bench.peers.tasks import Task, Where
from penstock_bench.process import ServerFailed

# Failures of a peer or its client that do not end the run.
PEER_FAILURES = (ClientFailed, ServerFailed, OSError)


class Fleet:
    def __init__(self, new_path: Callable[[str], str], log: Callable[[str], None], wanted: str = "") -> None:
        self._new_path = new_path
        self._log = log
        self._wanted = [word.strip().lower() for word in wanted.split(",") if word.strip()]
        self._running: dict[str, PeerProcess] = {}
        self._numbers = itertools.count()
        self._admin_clients = AdminClients()
        self._directories: list[str] = []
        self.absent: dict[str, str] = {}  # servers that are not installed or did not start, with the reason
        self.versions: dict[str, str] = {}

    def targets(
        self,
        chosen: Callable[[Target], bool] = lambda _: True,
        among: Sequence[Target] = TARGETS,
        product_named: Callable[[str], Product] = server_named,
    ) -> list[Target]:
        """Return the requested targets whose server and client are installed."""
        found = []
        for target in among:
            if not self._is_wanted(target) or not chosen(target):
                continue
            server = product_named(target.server)
            reason = server.missing() or missing_package(server.dialect)
            if reason is not None:
                self.absent[server.name] = reason
            if server.name not in self.absent:
                found.append(target)
                if server.name not in self.versions:
                    self.versions[server.name] = server.version()
        return found

    def _is_wanted(self, target: Target) -> bool:
        return not self._wanted or any(word in target.name.lower() for word in self._wanted)

    def running(self, target: Target) -> PeerProcess:
        """Return the server of the target. Raises `ServerFailed` when it does not start, now or earlier."""
        name = target.server
        if name in self.absent:
            raise ServerFailed(self.absent[name])
        if name not in self._running:
            self._log(f"starting {name}")
            directory = self.new_directory()
            try:
                self._running[name] = self.start(target, directory, free_port())
            except (ServerFailed, OSError) as error:
                self.absent[name] = str(error)
                raise ServerFailed(str(error)) from error
        return self._running[name]

    def start(self, target: Target, directory: str, port: int) -> PeerProcess:
        """Start another instance of the target's server. The caller ends it."""
        return server_named(target.server).start(directory, self._new_path("server.log"), port)

    def new_directory(self) -> str:
        """Make a data directory that is removed at the end of the run."""
        directory = self._new_path("peer")
        os.mkdir(directory)
        self._directories.append(directory)
        return directory

    @contextlib.contextmanager
    def streams(
        self, name: str, board: Board, targets: Sequence[Target], *, groups: int = 0, partitions: int = 1
    ) -> Iterator[dict[Target, Where]]:
        """Create a stream on each target, and delete it afterwards. A target that fails is noted on the board."""
        with contextlib.ExitStack() as stack:
            places: dict[Target, Where] = {}
            for target in targets:
                try:
                    stream = self.stream(name, target, groups=groups, partitions=partitions)
                    places[target] = stack.enter_context(stream)
                except PEER_FAILURES as error:
                    board.fail(target, str(error))
            yield places

    @contextlib.contextmanager
    def stream(self, name: str, target: Target, *, groups: int = 0, partitions: int = 1) -> Iterator[Where]:
        """Create a stream on one target, and delete it afterwards."""
        place = stream_on(self.running(target).address, target, f"{name}-{next(self._numbers)}")
        place = msgspec.structs.replace(place, groups=groups, partitions=partitions)
        self._admin_clients.run(Task(where=place, operation="create"))
        try:
            yield place
        finally:
            with contextlib.suppress(*PEER_FAILURES):
                self._admin_clients.run(Task(where=place, operation="remove"))

    def close(self) -> None:
        self._admin_clients.close()
        for running in self._running.values():
            running.kill()
        self._running.clear()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)


def stream_on(address: tuple[str, int], target: Target, stream: str) -> Where:
    """Return a stream of that name on the target's server at that address."""
    host, port = address
    dialect = server_named(target.server).dialect
    return Where(dialect=dialect, host=host, port=port, stream=stream, options=target.options)
