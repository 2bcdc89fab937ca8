"""Counts the syncs of a process with `perf` where it is available, and estimates them otherwise.

The estimate is an upper bound: each batch is acknowledged after one sync, so there are at most as many relevant
syncs as batches in the log.
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
# A sync that is left to the kernel is no call of its own (docs/adr/0011): 3 is the operation IORING_OP_FSYNC, and 23
# IORING_OP_WRITE, which brokers use for durable writes alone (docs/adr/0020).
_LEFT_TO_KERNEL: Final = ("io_uring:io_uring_submit_req", "opcode==3||opcode==23")
_TRACEPOINTS: Final = "/sys/kernel/tracing/events"
_ATTACH_S: Final = 0.5


class SyncCount(msgspec.Struct, frozen=True):
    count: int
    is_counted: bool


class SyncCounter:
    """Attaches to the processes before the load, and returns the count after it."""

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
            _, output = self._perf.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self._perf.kill()
            self._perf.wait()
            return 0
        return parse_perf(output)


def _events() -> list[str]:
    """Return the arguments of perf for all kinds of syncs. perf refuses all of them if one is unknown to it."""
    arguments = [word for event in _CALLS for word in ("-e", event)]
    event, condition = _LEFT_TO_KERNEL
    if os.path.exists(os.path.join(_TRACEPOINTS, event.replace(":", "/"))):
        arguments += ["-e", event, "--filter", condition]
    return arguments


def parse_perf(output: str) -> int:
    """Return the sum of the events in perf's comma-separated output, without those it could not count."""
    counts = [
        line.split(",")[0] for line in output.splitlines() if "syscalls:" in line or "io_uring:" in line
    ]
    return sum(int(count) for count in counts if count.isdecimal())


def count_batches(paths: Sequence[str]) -> tuple[int, int]:
    """Return the number and size in bytes of the record batches in the log files, from the batch headers.

    The size of a file may be larger: it is grown ahead of its data.
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
