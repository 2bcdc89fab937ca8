"""Runs compaction in a separate process, so that the event loop never waits for it.

The process, `python -m penstock.storage.compaction.worker`, runs for one pass; its exit frees all its memory:

    stdin   u32 size, then a `CompactionJob` in msgpack, then an f64, the bytes per second it may read and write, and
            another f64 whenever the rate changes; stays open while the broker lives
    stdout  an `Outcome` in msgpack

End of stdin means that the broker has exited; the worker then exits at once. Otherwise a restarted broker would find
another process writing `.cleaned` files into its logs.
"""

import asyncio
import contextlib
import os
import struct
import sys
import threading
from collections.abc import Callable
from typing import BinaryIO, Final, Protocol

import msgspec

from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.offload import Offload
from penstock.storage.compaction.pace import POLL_INTERVAL_S, Pace
from penstock.storage.compaction.rewrite import CompactionJob, CompactionResult, Spend, compact
from penstock.storage.errors import LogCorrupt, LogError
from penstock.storage.files import FileSystem, RealFileSystem

_SIZE: Final = struct.Struct(">I")
_RATE: Final = struct.Struct(">d")
_NICENESS: Final = 10


def _unlimited() -> float:
    return sys.float_info.max


class CompactionError(LogError):
    """A pass over a log could not be completed; the log is unchanged."""


class Compactor(Protocol):
    async def run(self, job: CompactionJob) -> CompactionResult:
        """Write the compacted segments of one log. Cancelling it aborts the pass, which may leave `.cleaned` files.

        Raises `LogCorrupt` for damaged records, `OSError` if the disk refuses, otherwise `CompactionError`.
        """
        ...


class OffloadedCompactor:
    """Compacts where the `Offload` runs it: inline in a test, on a thread in an embedded broker. As fast as it can."""

    def __init__(self, files: FileSystem, offload: Offload) -> None:
        self._files = files
        self._offload = offload

    async def run(self, job: CompactionJob) -> CompactionResult:
        is_cancelled = threading.Event()

        def check_cancelled(_size_bytes: int) -> None:
            if is_cancelled.is_set():
                raise CompactionError("the pass was cancelled")

        work = self._offload.start(lambda: compact(self._files, job, check_cancelled))
        try:
            return await asyncio.shield(work)
        except CorruptRecords as error:
            raise LogCorrupt(str(error)) from error
        except asyncio.CancelledError:
            # Cancelling does not end the thread, and the directory may soon belong to another log.
            is_cancelled.set()
            await asyncio.gather(work, return_exceptions=True)
            raise


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    result: CompactionResult | None = None
    corruption: str | None = None
    errno: int | None = None
    failure: str | None = None


class ProcessCompactor:
    """Compacts in a worker process that is started for each pass."""

    def __init__(self, bytes_per_second: Callable[[], float] = _unlimited) -> None:
        """The rate limit applies to all passes together."""
        self._bytes_per_second = bytes_per_second
        self._pass_count = 0

    async def run(self, job: CompactionJob) -> CompactionResult:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "penstock.storage.compaction.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        content = msgspec.msgpack.encode(job)
        process.stdin.write(_SIZE.pack(len(content)) + content)
        sending = asyncio.ensure_future(self._send_rate(process.stdin))
        self._pass_count += 1
        try:
            output = await process.stdout.read()
        finally:
            self._pass_count -= 1
            sending.cancel()
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            await process.wait()
        return _unpack(output, process.returncode)

    async def _send_rate(self, stdin: asyncio.StreamWriter) -> None:
        sent_rate: float | None = None
        with contextlib.suppress(ConnectionError):  # it died early: its output, or lack of output, shows that
            while True:
                rate = self._bytes_per_second() / self._pass_count
                if rate != sent_rate:
                    stdin.write(_RATE.pack(rate))
                    await stdin.drain()
                    sent_rate = rate
                await asyncio.sleep(POLL_INTERVAL_S)


def _unpack(output: bytes, exit_code: int | None) -> CompactionResult:
    try:
        outcome = msgspec.msgpack.decode(output, type=Outcome)
    except msgspec.DecodeError:
        raise CompactionError(f"the compaction process ended with status {exit_code} and no result") from None
    if outcome.result is not None:
        return outcome.result
    if outcome.corruption is not None:
        raise LogCorrupt(outcome.corruption)
    if outcome.errno is not None:
        raise OSError(outcome.errno, os.strerror(outcome.errno))
    raise CompactionError(outcome.failure or "unknown failure")


def perform(files: FileSystem, job: CompactionJob, spend: Spend) -> Outcome:
    """Run a job and convert its result or error into an `Outcome`, which can be sent to another process."""
    try:
        return Outcome(result=compact(files, job, spend))
    except CorruptRecords as error:
        return Outcome(corruption=str(error))
    except OSError as error:
        return Outcome(errno=error.errno, failure=str(error))
    except Exception as error:  # noqa: BLE001 - any error must be reported to the broker
        return Outcome(failure=f"{type(error).__name__}: {error}")


class _RateReader:
    """Reads the rate limit that the broker sends during the pass. End of stdin means that the broker has exited."""

    def __init__(self, stdin: BinaryIO) -> None:
        self._stdin = stdin
        self.bytes_per_second = _unlimited()

    def read_next(self) -> None:
        content = self._stdin.read(_RATE.size)
        if len(content) < _RATE.size:
            os._exit(1)
        (self.bytes_per_second,) = _RATE.unpack(content)

    def read_all(self) -> None:
        while True:
            self.read_next()


def main() -> None:
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    stdin = sys.stdin.buffer
    (size,) = _SIZE.unpack(stdin.read(_SIZE.size))
    job = msgspec.msgpack.decode(stdin.read(size), type=CompactionJob)
    rate_reader = _RateReader(stdin)
    rate_reader.read_next()
    threading.Thread(target=rate_reader.read_all, daemon=True).start()
    outcome = perform(RealFileSystem(), job, Pace(lambda: rate_reader.bytes_per_second).spend)
    sys.stdout.buffer.write(msgspec.msgpack.encode(outcome))
    sys.stdout.buffer.flush()
    os._exit(0)  # the thread is blocked in a read, which would delay a normal exit


if __name__ == "__main__":
    main()
