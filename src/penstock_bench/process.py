"""The server processes that are measured: started here, observed through /proc, ended by their own id."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final, Self

import msgspec

from penstock_bench import process_tree
from penstock_bench.readable import is_readable_within

_ADDRESS: Final = re.compile(r"(127\.0\.0\.1):(\d+)")
_READY_TIMEOUT_S: Final = 300.0
_STOP_TIMEOUT_S: Final = 120.0
_RUN_PENSTOCK: Final = "from penstock.cli.main import main; main()"
_RUN_PROFILED: Final = """
import cProfile, signal
from penstock.cli.main import main
profile = cProfile.Profile()
def end(*_):
    profile.disable()
    profile.dump_stats({path!r})
signal.signal(signal.SIGUSR1, lambda *_: profile.enable())
signal.signal(signal.SIGUSR2, end)
main()
"""
_RUN_ON_SLOW_DISK: Final = """
import time
from penstock.cli.main import main
from penstock.storage import files
class SlowFile(files.RealFile):
    descriptor = None  # without it the broker does not sync through io_uring
    def sync(self):
        time.sleep({delay_s})
        super().sync()
files.RealFile = SlowFile
main()
"""


class ServerFailed(Exception):
    """A server is not installed, did not start or did not stop; the message says why."""


class Memory(msgspec.Struct, frozen=True):
    rss_mib: float
    pss_mib: float


class ServerProcess:
    """A server that prints a line with `ready` and its address when it serves."""

    _output: int | None = subprocess.PIPE

    def __init__(
        self, command: Sequence[str], log_path: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log_path = log_path
        self.started_at = time.perf_counter()
        with open(log_path, "ab") as log:
            # A server found on this machine, with arguments of our own making.
            self._process = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=self._output or log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )
        try:
            self.address = self._await_ready(self.started_at + _READY_TIMEOUT_S)
        except BaseException:
            self.kill()
            raise
        self.ready_s = time.perf_counter() - self.started_at

    def _await_ready(self, deadline: float) -> tuple[str, int]:
        """Wait until the server serves, and return its address."""
        stdout = self._process.stdout
        assert stdout is not None
        while is_readable_within(stdout.fileno(), deadline - time.perf_counter()):
            line = stdout.readline().decode(errors="replace")
            if not line:
                break
            found = _ADDRESS.search(line)
            if "ready" in line and found is not None:
                return found[1], int(found[2])
        raise ServerFailed(f"the server did not get ready: {self._log_tail()}")

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
        return [self.pid]

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

    def cpu_since(self, before_s: float) -> float:
        """Return the processor time since then, at least one tick of the kernel's clock."""
        return max(self.cpu_s() - before_s, process_tree.TICK_S)

    def cpu_split_s(self) -> tuple[float, float]:
        """Return the processor time outside of the kernel and in it."""
        return process_tree.cpu_split_s(self.pid)

    def rss_mib(self) -> float:
        """Return the resident memory of all processes."""
        return sum(process_tree.rss_kib(pid) for pid in self.pids()) / 1024

    def memory(self) -> Memory:
        return memory_of(self.pid)

    def written_bytes(self) -> int:
        """Return how much this process alone has made the kernel write to storage, by all threads.

        A page counts each time it turns dirty, and direct writes count as they are. The filesystem's own journal does
        not count.
        """
        with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
            return parse_written_bytes(file.read())

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def parse_written_bytes(io: str) -> int:
    """Return the bytes written, from the text of /proc/PID/io."""
    fields = dict(line.split(": ") for line in io.splitlines())
    return int(fields["write_bytes"])


def memory_of(pid: int) -> Memory:
    """Return the resident memory, and the proportional share, in which shared pages count in part."""
    kib = {"Rss": 0, "Pss": 0}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in kib:
                kib[name] = int(rest.split()[0])
    return Memory(kib["Rss"] / 1024, kib["Pss"] / 1024)


def start_broker(
    data_dir: str,
    log_path: str,
    settings: Sequence[str] = (),
    *,
    port: int = 0,
    arguments: Sequence[str] = (),
    source: str | None = None,
    code: str = _RUN_PENSTOCK,
) -> ServerProcess:
    """Start a broker. `source` is the directory that holds the package `penstock` of another commit."""
    command = penstock_command(data_dir, port, [*arguments, *(f"--set={each}" for each in settings)], code)
    return ServerProcess(command, log_path, {"PYTHONPATH": source} if source is not None else None)


def penstock_command(
    data_dir: str, port: int, arguments: Sequence[str] = (), code: str = _RUN_PENSTOCK
) -> list[str]:
    """Return the command line of a broker on loopback, run by the interpreter of the benchmark."""
    return [sys.executable, "-c", code, "up", "--listen", f"127.0.0.1:{port}", "--data", data_dir, *arguments]


def start_profiled_broker(data_dir: str, log_path: str, profile_path: str) -> ServerProcess:
    """Start a broker that profiles itself between SIGUSR1 and SIGUSR2, and then writes the profile."""
    return start_broker(data_dir, log_path, code=_RUN_PROFILED.format(path=profile_path))


def start_broker_on_slow_disk(data_dir: str, log_path: str, *, sync_delay_s: float) -> ServerProcess:
    """Start a broker whose syncs take this much longer than those of the disk."""
    return start_broker(data_dir, log_path, code=_RUN_ON_SLOW_DISK.format(delay_s=sync_delay_s))


def start_null_server(answer_bytes: int, log_path: str) -> ServerProcess:
    return ServerProcess([sys.executable, "-m", "penstock_bench.null_server", str(answer_bytes)], log_path)
