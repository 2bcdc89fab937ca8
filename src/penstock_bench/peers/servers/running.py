"""How a server of any product is started, observed with all of its children, and ended."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from penstock_bench import process_tree
from penstock_bench.peers.tasks import Dialect
from penstock_bench.process import ServerFailed, ServerProcess

_POLL_INTERVAL_S: Final = 0.002


Helper = subprocess.Popen[bytes]
"""A process that a product needs besides its servers."""


class Product(Protocol):
    """A product that may be installed on this machine."""

    name: str
    dialect: Dialect

    def missing(self) -> str | None:
        """Return why it cannot run on this machine, or None."""

    def version(self) -> str: ...


class Server(Product, Protocol):
    """A product of which one server can be started."""

    def start(self, directory: str, log_path: str, port: int) -> "PeerProcess":
        """Start it with its data in `directory`, which may hold the data of an earlier start. It accepts connections
        when this returns; it may not serve requests yet.
        """


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read_version(*command: str) -> str:
    """Return the output of a command that prints a version."""
    # A program found on this machine, with fixed arguments.
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    return (done.stdout + done.stderr).strip()


class PeerProcess(ServerProcess):
    """A server with all of its children and helpers. It is ready when its port accepts connections."""

    _output = None  # to the log

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log_path: str,
        *,
        environment: Mapping[str, str] | None = None,
        helpers: Sequence[Helper] = (),
    ) -> None:
        self._port = port
        self._helpers = list(helpers)  # not children of the server
        super().__init__(command, log_path, environment)

    def _await_ready(self, deadline: float) -> tuple[str, int]:
        address = ("127.0.0.1", self._port)
        while time.perf_counter() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(f"the server ended at once: {self._log_tail()}")
            with contextlib.suppress(OSError), socket.create_connection(address, 1.0):
                return address
            time.sleep(_POLL_INTERVAL_S)
        raise ServerFailed(f"the server does not listen: {self._log_tail()}")

    def pids(self) -> list[int]:
        roots = [self.pid, *(each.pid for each in self._helpers)]
        return sorted(set().union(*(process_tree.tree(root) for root in roots)))

    def _kill(self, pids: Sequence[int]) -> None:
        super()._kill(pids)
        for helper in self._helpers:
            helper.kill()
            helper.wait()
