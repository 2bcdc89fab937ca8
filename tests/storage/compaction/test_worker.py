import asyncio
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from penstock.runtime.offload import InlineOffload, ThreadOffload
from penstock.storage.compaction.rewrite import CompactionJob, CompactionResult, compact
from penstock.storage.compaction.worker import (
    CompactionError,
    OffloadedCompactor,
    Outcome,
    ProcessCompactor,
    _unpack,
    perform,
)
from penstock.storage.errors import LogCorrupt
from penstock.storage.files import RealFileSystem
from tests.storage.segments import DIRECTORY, all_pairs, job_of, new_disk, write_log


def real_copy(target: Path) -> CompactionJob:
    """A small log on the real disk, and the job that compacts it."""
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1", "a=2|c=1", "b=2")
    for name in disk.list(DIRECTORY):
        file = disk.open(f"{DIRECTORY}/{name}")
        (target / name).write_bytes(file.read(file.size(), 0))
    return msgspec.structs.replace(job_of(segments, end=5), directory=str(target))


def test_a_worker_process_compacts_as_the_same_code_does_inline(tmp_path: Path) -> None:
    job = real_copy(tmp_path)
    result = asyncio.run(ProcessCompactor().run(job))
    written = {
        name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if name.endswith(".cleaned")
    }
    assert result == compact(RealFileSystem(), job)
    assert len(written) == 3
    assert {name: (tmp_path / name).read_bytes() for name in written} == written


def test_damage_found_by_the_worker_process_is_reported_as_damage(tmp_path: Path) -> None:
    job = real_copy(tmp_path)
    path = tmp_path / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[64] ^= 1
    path.write_bytes(content)
    with pytest.raises(LogCorrupt, match="CRC"):
        asyncio.run(ProcessCompactor().run(job))


def test_a_disk_error_of_the_worker_process_keeps_its_errno(tmp_path: Path) -> None:
    job = real_copy(tmp_path)
    (tmp_path / f"{0:020d}.log").unlink()
    with pytest.raises(FileNotFoundError):
        asyncio.run(ProcessCompactor().run(job))


def test_cancelling_a_pass_ends_its_process(tmp_path: Path) -> None:
    job = real_copy(tmp_path)
    log = tmp_path / f"{0:020d}.log"
    log.unlink()
    os.mkfifo(log)  # opening it for reading waits for a writer that never comes
    started: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def remember(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await start(*args, **options))
        return started[0]

    async def cancel_when_started() -> None:
        pass_over_log = asyncio.create_task(ProcessCompactor().run(job))
        while not started:
            await asyncio.sleep(0)
        pass_over_log.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pass_over_log

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "create_subprocess_exec", remember)
        asyncio.run(cancel_when_started())
    assert started[0].returncode == -signal.SIGKILL


def test_a_worker_ends_at_once_when_its_broker_has_died(tmp_path: Path) -> None:
    job = real_copy(tmp_path)
    log = tmp_path / f"{0:020d}.log"
    log.unlink()
    os.mkfifo(log)
    content = msgspec.msgpack.encode(job)
    with subprocess.Popen(
        [sys.executable, "-m", "penstock.storage.compaction.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(len(content).to_bytes(4, "big") + content + struct.pack(">d", 1e9))
        worker.stdin.flush()
        worker.stdin.close()
        assert worker.wait(timeout=30) == 1


def test_a_changed_rate_applies_to_a_running_pass(tmp_path: Path) -> None:
    rates = iter([1.0])  # one byte per second at first
    job = real_copy(tmp_path)
    result = asyncio.run(ProcessCompactor(lambda: next(rates, sys.float_info.max)).run(job))
    assert result == compact(RealFileSystem(), job)


def test_concurrent_passes_share_the_rate() -> None:
    compactor = ProcessCompactor(lambda: 1000.0)
    rates: list[float] = []

    class Worker:
        def write(self, content: bytes) -> None:
            rates.append(*struct.unpack(">d", content))

        async def drain(self) -> None:
            raise BrokenPipeError

    for compactor._pass_count in (1, 2):
        asyncio.run(compactor._send_rate(cast("asyncio.StreamWriter", Worker())))
    assert rates == [1000.0, 500.0]


def test_a_worker_process_that_dies_without_an_outcome_is_a_failure() -> None:
    with pytest.raises(CompactionError, match="status -9"):
        _unpack(b"", -9)


def test_an_unexpected_exception_of_the_worker_process_is_reported_as_text() -> None:
    disk = new_disk()
    job = msgspec.structs.replace(job_of(write_log(disk, "a=1"), end=1), index_interval_bytes=None)
    outcome = perform(disk, job, lambda _size_bytes: None)
    assert outcome.failure is not None
    assert "TypeError" in outcome.failure
    with pytest.raises(CompactionError, match="TypeError"):
        _unpack(msgspec.msgpack.encode(outcome), 0)


def test_the_offloaded_compactor_works_on_any_file_system() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1", "a=2")
    result = asyncio.run(OffloadedCompactor(disk, InlineOffload()).run(job_of(segments, end=3)))
    assert isinstance(result, CompactionResult)
    assert all_pairs(disk, ".log.cleaned") == "1:b=1 2:a=2"


def test_cancelling_a_pass_on_a_thread_waits_until_it_has_ended() -> None:
    disk = new_disk()
    job = job_of(write_log(disk, "a=1|a=2", "b=1|b=2"), end=4)
    job = msgspec.structs.replace(job, segment_bytes_max=1)  # each segment by itself
    started, may_go_on = threading.Event(), threading.Event()

    def wait(_path: str) -> None:
        started.set()
        may_go_on.wait()

    async def scenario() -> None:
        threads = ThreadOffload(1, "compactor")
        disk.before_sync(wait)
        running = asyncio.ensure_future(OffloadedCompactor(disk, threads).run(job))
        await asyncio.to_thread(started.wait)
        running.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        was_done = running.done()
        may_go_on.set()
        await asyncio.wait([running])
        assert not was_done
        assert running.cancelled()
        threads.close()

    asyncio.run(scenario())
    assert [name for name in disk.list(DIRECTORY) if name.endswith(".log.cleaned")] == [
        "00000000000000000000.log.cleaned"
    ]


def test_jobs_and_outcomes_round_trip_between_processes() -> None:
    disk = new_disk()
    job = job_of(write_log(disk, "a=1", "a=2"), end=2)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(job), type=CompactionJob) == job
    outcome = perform(disk, job, lambda _size_bytes: None)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outcome), type=Outcome) == outcome
