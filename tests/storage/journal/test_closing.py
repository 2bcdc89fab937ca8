"""A clean stop while the journal writes a round: it waits for the round, and leaves no sync in the kernel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.storage.ring import open_ring
from penstock.storage.store import log_store
from tests.storage.journal.real_store import TOPIC_ID, RealStore


@asynccontextmanager
async def written_store(path: Path, *, has_ring: bool) -> AsyncIterator[RealStore]:
    """With records in the journal."""
    store = RealStore(path, open_ring() if has_ring else None)
    try:
        for _ in range(3):
            await asyncio.gather(*(store.write(log, "." * 70) for log in store.logs))
        yield store
    finally:
        store.offload.close()


@pytest.mark.parametrize("has_ring", [True, False])
def test_a_stop_waits_for_a_round_that_the_journal_started_itself(tmp_path: Path, has_ring: bool) -> None:
    async def run() -> None:
        async with written_store(tmp_path, has_ring=has_ring) as store:
            dropping = asyncio.ensure_future(store.store.drop("t", TOPIC_ID, 0))
            await asyncio.sleep(0)
            assert store.journal.is_busy
            await store.stop()
            await dropping

    asyncio.run(run())


@pytest.mark.parametrize("has_ring", [True, False])
def test_a_stop_completes_while_a_truncation_waits_for_the_journal(tmp_path: Path, has_ring: bool) -> None:
    async def run() -> None:
        async with written_store(tmp_path, has_ring=has_ring) as store:
            truncation = asyncio.ensure_future(store.store.allow_truncation(store.logs[0], 1))
            for _ in range(3):
                await asyncio.sleep(0)
            await store.stop()
            await asyncio.wait([truncation], timeout=30)
            assert truncation.done()
            truncation.exception()

    asyncio.run(run())


def test_a_closed_journal_refuses_requests(tmp_path: Path) -> None:
    async def run() -> None:
        async with written_store(tmp_path, has_ring=False) as store:
            journal = store.journal
            assert journal is not None
            await store.stop()
            journal.forget(store.logs[1].partition_id, store.logs[1])
            assert not await journal.written()

    asyncio.run(run())


def test_a_start_after_a_clean_stop_waits_for_direct_writes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark of a clean stop is written while the journal may still write a round of its own."""
    waited_for: list[str] = []

    async def run() -> None:
        async with written_store(tmp_path, has_ring=False) as store:
            await store.stop()
        monkeypatch.setattr(log_store, "wait_for_direct_writes", lambda _, paths: waited_for.extend(paths))
        async with written_store(tmp_path, has_ring=False) as store:
            assert store.store.was_clean
            await store.stop()

    asyncio.run(run())
    assert str(tmp_path / ".journal.0") in waited_for
