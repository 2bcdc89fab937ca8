"""The server processes that are measured: started here, observed through /proc, ended by their own id."""

import contextlib
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Self

from penstock_bench import process_tree

_ADDRESS: Final = re.compile(r"(127\.0\.0\.1):(\d+)")
_POLL_INTERVAL_S: Final = 0.002
_READY_TIMEOUT_S: Final = 300.0
_STOP_TIMEOUT_S: Final = 120.0
_RUN_PENSTOCK: Final = "from penstock.cli.main import main; main()"


class ServerFailed(Exception):
    """A server is not installed, did not start or did not stop; the message says why."""


class Usage:
    """The wall time and the processor time of a server during a measurement, at least a tick of the kernel's clock."""

    took_s = cpu_s = 0.0


class ServerProcess:
    """A server with all of its children. It is ready when its port accepts connections, or without a port when it
    prints a line with `ready` and its address.
    """

    def __init__(
        self,
        command: Sequence[str],
        log_path: str,
        environment: Mapping[str, str] | None = None,
        *,
        port: int | None = None,
    ) -> None:
        self._log_path = log_path
        self.started_at = time.perf_counter()
        with open(log_path, "ab") as log:
            # A server found on this machine, with arguments of our own making.
            self._process = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if port is None else log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        deadline = self.started_at + _READY_TIMEOUT_S
        try:
            self.address = self._read_address(deadline) if port is None else self._await_port(port, deadline)
        except BaseException:
            self.kill()
            raise
        self.ready_s = time.perf_counter() - self.started_at

    def _read_address(self, deadline: float) -> tuple[str, int]:
        stdout = self._process.stdout
        assert stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.perf_counter())):
                line = stdout.readline().decode(errors="replace")
                if not line:
                    break
                found = _ADDRESS.search(line)
                if "ready" in line and found is not None:
                    return found[1], int(found[2])
        raise ServerFailed(f"the server did not get ready: {self._log_tail()}")

    def _await_port(self, port: int, deadline: float) -> tuple[str, int]:
        address = ("127.0.0.1", port)
        while time.perf_counter() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(f"the server ended at once: {self._log_tail()}")
            with contextlib.suppress(OSError), socket.create_connection(address, 1.0):
                return address
            time.sleep(_POLL_INTERVAL_S)
        raise ServerFailed(f"the server does not listen: {self._log_tail()}")

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError), open(self._log_path, encoding="utf-8", errors="replace") as log:
            return " ".join(log.read()[-2000:].split()) or "its log is empty"
        return "it has no log"

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def pids(self) -> list[int]:
        """Return the ids of all of its processes."""
        return sorted(process_tree.tree(self.pid))

    def stop(self) -> float:
        """Stop it with SIGTERM, and return how many seconds that took."""
        began = time.perf_counter()
        pids = self.pids()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerFailed(f"the server did not stop within {_STOP_TIMEOUT_S:g} s of SIGTERM") from None
        took_s = time.perf_counter() - began
        self._kill(pids)
        return took_s

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill all of its processes with SIGKILL, as a crash does. Does nothing to one that has ended."""
        self._kill(self.pids() if self._process.poll() is None else [])

    def _kill(self, pids: Sequence[int]) -> None:
        if self._process.poll() is None:
            self._process.kill()
        for pid in pids:
            if pid != self.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    # -- readings of /proc

    def cpu_s(self) -> float:
        """Return the processor time of all living processes so far, in seconds."""
        return sum(process_tree.cpu_s(pid) for pid in self.pids())

    @contextlib.contextmanager
    def usage(self) -> Iterator[Usage]:
        """Measure what the server uses in the `with` block."""
        used = Usage()
        cpu_s, began = self.cpu_s(), time.perf_counter()
        yield used
        used.took_s = time.perf_counter() - began
        used.cpu_s = max(self.cpu_s() - cpu_s, process_tree.TICK_S)

    def cpu_split_s(self) -> tuple[float, float]:
        """Return the processor time outside of the kernel and in it."""
        return process_tree.cpu_split_s(self.pid)

    def memory_mib(self, kind: str = "Rss") -> float:
        """Return the resident memory of all processes, or `Pss`: the proportional share."""
        return sum(process_tree.memory_kib(pid, kind) for pid in self.pids()) / 1024

    def written_bytes(self) -> int:
        """Return how much this process alone has made the kernel write to storage, by all threads.

        A page counts each time it turns dirty, and direct writes count as they are. The filesystem's own journal does
        not count.
        """
        with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
            return int(dict(line.split(": ") for line in file)["write_bytes"])

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def start_broker(
    data_dir: str,
    log_path: str,
    settings: Sequence[str] = (),
    *,
    source: str | None = None,
    code: str = _RUN_PENSTOCK,
) -> ServerProcess:
    """Start a broker. `source` is the directory that holds the package `penstock` of another commit, `code` the program
    that runs it.
    """
    command = penstock_command(data_dir, 0, [f"--set={each}" for each in settings], code)
    return ServerProcess(command, log_path, {"PYTHONPATH": source} if source is not None else None)


def penstock_command(
    data_dir: str, port: int, arguments: Sequence[str] = (), code: str = _RUN_PENSTOCK
) -> list[str]:
    """Return the command line of a broker on loopback, run by the interpreter of the benchmark."""
    return [sys.executable, "-c", code, "up", "--listen", f"127.0.0.1:{port}", "--data", data_dir, *arguments]


def start_null_server(answer_bytes: int, log_path: str) -> ServerProcess:
    return ServerProcess([sys.executable, "-m", "penstock_bench.null_server", str(answer_bytes)], log_path)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
