"""The processes under test: started here, watched through /proc, ended by their own id."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final, Self

import msgspec

from penstock.cli.bench.readable import is_readable_within

_ADDRESS: Final = re.compile(r"(127\.0\.0\.1):(\d+)")
_READY_TIMEOUT_S: Final = 300.0
_STOP_TIMEOUT_S: Final = 120.0
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_COMPILED_ENVIRONMENT: Final = ".venv-compiled"
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
    descriptor = None  # the kernel is not to sync it behind our back
    def sync(self):
        time.sleep({delay_s})
        super().sync()
files.RealFile = SlowFile
main()
"""


class ProcessFailed(Exception):
    """A process did not get ready; the message carries the end of what it wrote."""


class Memory(msgspec.Struct, frozen=True):
    rss_mib: float
    pss_mib: float


class ServerProcess:
    """A server that prints a line with `ready` and its address when it serves."""

    def __init__(self, command: Sequence[str], log_path: str) -> None:
        self._log_path = log_path
        self.started_at = time.perf_counter()
        with open(log_path, "ab") as errors:
            # Our own interpreter with arguments of our own making.
            self._process = subprocess.Popen(  # noqa: S603
                list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        try:
            self.address = self._await_ready()
        except BaseException:
            self.kill()
            raise
        self.ready_s = time.perf_counter() - self.started_at

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def _await_ready(self) -> tuple[str, int]:
        stdout = self._process.stdout
        assert stdout is not None
        deadline = self.started_at + _READY_TIMEOUT_S
        while True:
            is_readable = is_readable_within(stdout.fileno(), deadline - time.perf_counter())
            line = stdout.readline().decode(errors="replace") if is_readable else ""
            if not line:
                with (
                    contextlib.suppress(OSError),
                    open(self._log_path, encoding="utf-8", errors="replace") as log,
                ):
                    line = log.read()[-2000:]
                raise ProcessFailed(f"the server did not get ready: {line}")
            found = _ADDRESS.search(line)
            if "ready" in line and found is not None:
                return found[1], int(found[2])

    def stop(self) -> float:
        """End it gracefully; gives how many seconds that took."""
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ProcessFailed(f"the server did not stop within {_STOP_TIMEOUT_S:g} s of SIGTERM") from None
        self._close()
        return time.perf_counter() - began

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL: what a crash looks like to everyone else."""
        self._process.kill()
        self._process.wait()
        self._close()

    def end(self) -> None:
        """For clean-up: whatever state it is in, it is gone afterwards."""
        if self._process.poll() is None:
            self.kill()
        self._close()

    def _close(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    # -- what /proc tells

    def cpu_s(self) -> float:
        """Seconds of processor time taken so far, by all threads."""
        return sum(self.cpu_split_s())

    def cpu_split_s(self) -> tuple[float, float]:
        """The same, outside of the kernel and in it."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) / _TICKS_PER_S, int(fields[12]) / _TICKS_PER_S

    def memory(self) -> Memory:
        return memory_of(self.pid)

    def written_bytes(self) -> int:
        """How much this process alone has made the kernel write to storage, by all threads: a page counts each time
        it turns dirty, and direct writes count as they are. The filesystem's own journal is not in it.
        """
        with open(f"/proc/{self.pid}/io", encoding="ascii") as file:
            return parse_written_bytes(file.read())

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def parse_written_bytes(io: str) -> int:
    """The count of bytes written, from the text of /proc/PID/io."""
    fields = dict(line.split(": ") for line in io.splitlines())
    return int(fields["write_bytes"])


def memory_of(pid: int) -> Memory:
    """Resident memory, and the share of it that is this process's own (pages shared with others count in part)."""
    kib = {"Rss": 0, "Pss": 0}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in kib:
                kib[name] = int(rest.split()[0])
    return Memory(kib["Rss"] / 1024, kib["Pss"] / 1024)


def builds() -> dict[str, str]:
    """The interpreters whose brokers are measured, by what their figures are marked with: this one, and that of
    `make compiled` if it is there.
    """
    compiled = os.path.join(os.path.dirname(sys.prefix), _COMPILED_ENVIRONMENT, "bin", "python")
    return {"": sys.executable, ", compiled": compiled} if os.path.exists(compiled) else {"": sys.executable}


def start_broker(
    data_dir: str,
    log_path: str,
    settings: Sequence[str] = (),
    python: str = sys.executable,
    *,
    port: int = 0,
    arguments: Sequence[str] = (),
) -> ServerProcess:
    command = [python, "-c", _RUN_PENSTOCK, "up", "--listen", f"127.0.0.1:{port}", "--data", data_dir]
    command += arguments
    for setting in settings:
        command += ["--set", setting]
    return ServerProcess(command, log_path)


def start_profiled_broker(data_dir: str, log_path: str, profile_path: str) -> ServerProcess:
    """A broker that profiles itself between SIGUSR1 and SIGUSR2, and then writes the profile."""
    code = _RUN_PROFILED.format(path=profile_path)
    command = [sys.executable, "-c", code, "up", "--listen", "127.0.0.1:0", "--data", data_dir]
    return ServerProcess(command, log_path)


def start_broker_on_slow_disk(
    data_dir: str, log_path: str, python: str, *, sync_delay_s: float
) -> ServerProcess:
    """A broker whose syncs take so much longer than this machine's."""
    code = _RUN_ON_SLOW_DISK.format(delay_s=sync_delay_s)
    command = [python, "-c", code, "up", "--listen", "127.0.0.1:0", "--data", data_dir]
    return ServerProcess(command, log_path)


def start_null_server(answer_bytes: int, log_path: str) -> ServerProcess:
    return ServerProcess(
        [sys.executable, "-m", "penstock.cli.bench.null_server", str(answer_bytes)], log_path
    )
