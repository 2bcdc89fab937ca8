"""A clean stop while the journal writes a round: it waits for the round, and leaves no sync in the kernel."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from penstock.runtime.clock import SystemClock
from penstock.runtime.offload import ThreadOffload
from penstock.storage.files import RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.ring import SyncRing, open_ring
from penstock.storage.store import log_store
from penstock.storage.store.log_store import LogStore
from tests.storage.logs import append, config_of

TOPIC_ID = Random(1).randbytes(16)


class Machine:
    """Three partitions with records in the journal, on the real disk."""

    def __init__(self, path: Path, ring: SyncRing | None) -> None:
        self.offload = ThreadOffload(4, "test")
        self.ring = ring
        self.store = LogStore.open(
            str(path),
            files=RealFileSystem(),
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: os.urandom(16),
            offload=self.offload,
            journal_bytes=16 << 20,
            ring=ring,
        )
        self.flusher = Flusher(self.offload, SystemClock(), journal=self.store.journal, ring=ring)
        self.logs = [self.store.open_or_create("t", TOPIC_ID, number, config_of()) for number in range(3)]

    async def write(self, log: Log) -> None:
        append(log, "." * 70)
        await self.flusher.sync(log)

    async def close(self) -> None:
        await asyncio.wait_for(self.store.close(self.flusher), 30)
        if self.ring is not None:
            self.ring.close()


@asynccontextmanager
async def machine(path: Path, *, has_ring: bool) -> AsyncIterator[Machine]:
    made = Machine(path, open_ring() if has_ring else None)
    try:
        for _ in range(3):
            await asyncio.gather(*(made.write(log) for log in made.logs))
        yield made
    finally:
        made.offload.close()


@pytest.mark.parametrize("has_ring", [True, False])
def test_a_stop_waits_for_a_round_that_the_journal_started_itself(tmp_path: Path, has_ring: bool) -> None:
    async def run() -> None:
        async with machine(tmp_path, has_ring=has_ring) as made:
            dropping = asyncio.ensure_future(made.store.drop("t", TOPIC_ID, 0))
            await asyncio.sleep(0)
            assert made.store.journal is not None
            assert made.store.journal.is_busy
            await made.close()
            await dropping

    asyncio.run(run())


@pytest.mark.parametrize("has_ring", [True, False])
def test_a_stop_completes_while_a_truncation_waits_for_the_journal(tmp_path: Path, has_ring: bool) -> None:
    async def run() -> None:
        async with machine(tmp_path, has_ring=has_ring) as made:
            truncation = asyncio.ensure_future(made.store.allow_truncation(made.logs[0], 1))
            for _ in range(3):
                await asyncio.sleep(0)
            await made.close()
            await asyncio.wait([truncation], timeout=30)
            assert truncation.done()
            truncation.exception()

    asyncio.run(run())


def test_a_closed_journal_refuses_requests(tmp_path: Path) -> None:
    async def run() -> None:
        async with machine(tmp_path, has_ring=False) as made:
            journal = made.store.journal
            assert journal is not None
            await made.close()
            journal.forget(made.logs[1].partition_id, made.logs[1])
            assert not await journal.written()

    asyncio.run(run())


def test_a_start_after_a_clean_stop_waits_for_direct_writes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of a clean stop is written while the journal may still write a round of its own."""
    waited_for: list[str] = []

    async def run() -> None:
        async with machine(tmp_path, has_ring=False) as made:
            await made.close()
        monkeypatch.setattr(log_store, "wait_for_direct_writes", lambda _, paths: waited_for.extend(paths))
        async with machine(tmp_path, has_ring=False) as made:
            assert made.store.was_clean
            await made.close()

    asyncio.run(run())
    assert str(tmp_path / ".journal.0") in waited_for
