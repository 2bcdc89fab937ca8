"""How many syncs a process did. Counted by the kernel where `perf` is at hand and allowed, else estimated.

The estimate is an upper bound: a batch is acknowledged after one sync, so there cannot have been more syncs that
mattered than batches in the log.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from penstock.protocol.records.batch import LOG_OVERHEAD

_CALLS: Final = ("syscalls:sys_enter_fdatasync", "syscalls:sys_enter_fsync")
# A sync that is left to the kernel is no call of its own (docs/adr/0011). 3 is the operation IORING_OP_FSYNC.
_LEFT_TO_KERNEL: Final = ("io_uring:io_uring_submit_req", "opcode==3")
_TRACEPOINTS: Final = "/sys/kernel/tracing/events"
_ATTACH_S: Final = 0.5


class SyncCount(msgspec.Struct, frozen=True):
    count: int
    is_counted: bool


class SyncCounter:
    """Attach to the processes before the load, ask after it."""

    def __init__(self, *pids: int) -> None:
        self._perf: subprocess.Popen[str] | None = None
        perf = shutil.which("perf")
        if perf is None:
            return
        command = [perf, "stat", "-x", ",", *_events(), "-p", ",".join(map(str, pids))]
        # A tool found on the path, pointed at a process that the benchmark started.
        self._perf = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        time.sleep(_ATTACH_S)  # perf does not say when it has attached

    def stop(self, batch_count: int) -> SyncCount:
        counted = self._stop_perf()
        return SyncCount(counted, True) if counted else SyncCount(batch_count, False)

    def _stop_perf(self) -> int:
        if self._perf is None:
            return 0
        self._perf.send_signal(signal.SIGINT)
        try:
            _, told = self._perf.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._perf.kill()
            self._perf.wait()
            return 0
        return parse_perf(told)


def _events() -> list[str]:
    """The arguments of perf for all that is a sync; it would refuse all of them for one that it does not know."""
    arguments = [word for event in _CALLS for word in ("-e", event)]
    event, condition = _LEFT_TO_KERNEL
    if os.path.exists(os.path.join(_TRACEPOINTS, event.replace(":", "/"))):
        arguments += ["-e", event, "--filter", condition]
    return arguments


def parse_perf(told: str) -> int:
    """The sum of the events in perf's comma-separated output; what it could not count is nothing."""
    counts = [line.split(",")[0] for line in told.splitlines() if "syscalls:" in line or "io_uring:" in line]
    return sum(int(count) for count in counts if count.isdecimal())


def count_batches(paths: Sequence[str]) -> tuple[int, int]:
    """How many record batches the log files hold, and how many bytes those are, by hopping over their headers.

    Not the files' sizes: a file may have been grown ahead of what is written to it.
    """
    count = size_bytes = 0
    for path in paths:
        with open(path, "rb") as file:
            while len(head := file.read(LOG_OVERHEAD)) == LOG_OVERHEAD:
                length = int.from_bytes(head[8:12], "big")
                if not length:
                    break
                file.seek(length, 1)
                count += 1
                size_bytes += LOG_OVERHEAD + length
    return count, size_bytes
