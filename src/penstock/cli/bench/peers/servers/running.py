"""A server that the harness started: watched through /proc with all its children, and ended by their ids."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, Self

from penstock.cli.bench import process_tree
from penstock.cli.bench.peers.tasks import Dialect

_PORT_WITHIN_S: Final = 300.0
_STOP_WITHIN_S: Final = 120.0
_LOOK_S: Final = 0.002


class NotStarted(Exception):
    """The server cannot be had or did not start; the message says why."""


Helper = subprocess.Popen[bytes]
"""A process that a product needs beside its servers."""


class Product(Protocol):
    """Something that this machine may have."""

    name: str
    dialect: Dialect

    def missing(self) -> str | None:
        """What this machine lacks to run it; None when it lacks nothing."""

    def version(self) -> str: ...


class Server(Product, Protocol):
    """A product of which one server can be started."""

    def start(self, directory: str, log_path: str, port: int) -> "Running":
        """Start it with its data in `directory`, which may hold what an earlier start left. It accepts connections
        when this returns, which does not mean that it serves.
        """


def free_port() -> int:
    """A port that nobody had a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log_path: str,
        *,
        environment: Mapping[str, str] | None = None,
        beside: Sequence[Helper] = (),
    ) -> None:
        self.address = ("127.0.0.1", port)
        self._log_path = log_path
        self._beside = list(beside)  # helpers of the product that are not its children
        self.started_at = time.perf_counter()
        with open(log_path, "ab") as log:
            # A server found on this machine, with arguments of our own making.
            self._process = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        try:
            self._await_port()
        except BaseException:
            self.kill()
            raise

    def _await_port(self) -> None:
        deadline = self.started_at + _PORT_WITHIN_S
        while True:
            if self._process.poll() is not None:
                raise NotStarted(f"it ended at once: {self._last_words()}")
            with contextlib.suppress(OSError), socket.create_connection(self.address, 1.0):
                return
            if time.perf_counter() > deadline:
                raise NotStarted(f"nobody listens after {_PORT_WITHIN_S:g} s: {self._last_words()}")
            time.sleep(_LOOK_S)

    def _last_words(self) -> str:
        with open(self._log_path, encoding="utf-8", errors="replace") as log:
            return " ".join(log.read()[-600:].split()) or "it wrote nothing"

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> float:
        """End it gracefully; gives how many seconds that took."""
        began = time.perf_counter()
        tree = self._tree()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise NotStarted(f"it did not stop within {_STOP_WITHIN_S:g} s of SIGTERM") from None
        took_s = time.perf_counter() - began
        self._end(tree)
        return took_s

    def kill(self) -> None:
        """SIGKILL to all of it: what a crash looks like to everyone else."""
        self._end(self._tree())

    def _tree(self) -> set[int]:
        roots = [self._process.pid, *(each.pid for each in self._beside)]
        return set().union(*(process_tree.tree(root) for root in roots))

    def _end(self, tree: set[int]) -> None:
        for pid in tree:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in (self._process, *self._beside):
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
        for each in self._beside:
            each.kill()
            each.wait()

    def cpu_s(self) -> float:
        """Seconds of processor time taken so far, by all of its processes that live."""
        return sum(process_tree.cpu_s(pid) for pid in self._tree())

    def cpu_since(self, before_s: float) -> float:
        """Seconds of processor time taken since then; the kernel counts in ticks, and less than one is not known."""
        return max(self.cpu_s() - before_s, process_tree.TICK_S)

    def pids(self) -> list[int]:
        """All of its processes."""
        return sorted(self._tree())

    def rss_mib(self) -> float:
        """Resident memory of all of its processes."""
        return sum(process_tree.rss_kib(pid) for pid in self._tree()) / 1024
