"""Starts without room for a journal file, or on a disk that refuses the journal."""

import asyncio
import errno
from random import Random

import pytest

from penstock.storage.errors import StorageError
from penstock_simulation.disk import FaultyDisk
from tests.storage.journal.store import Store


def test_without_room_for_a_journal_each_partition_syncs_its_own_segments(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        disk = FaultyDisk(Random(1))
        disk.fail("write", ".journal.", error=errno.ENOSPC)
        store = Store(disk=disk)
        assert store.logs.journal is None
        await store.write("first")
        await store.write("second")
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [2, 2, 2]

    asyncio.run(run())
    assert "Cannot use the journal in /data (No space left on device)" in caplog.text


def test_a_start_without_room_for_another_journal_file_recovers_the_journals_records() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("second")
        store.disk = store.disk.crash()
        store.disk.fail("write", ".journal.1", error=errno.ENOSPC)
        await store.recover()
        await store.check()
        await store.write("third")
        await store.crash()
        await store.check()
        assert [len(each) for each in store.written] == [3, 3, 3]

    asyncio.run(run())


def test_a_start_fails_when_the_disk_refuses_a_journal_that_may_hold_the_only_copy_of_records() -> None:
    async def run() -> None:
        store = await Store.made()
        await store.write("second")
        store.disk = store.disk.crash()
        fault = store.disk.fail("sync", ".journal.0", error=errno.EIO)
        with pytest.raises(
            StorageError, match="holds records that the logs may lack, and cannot be used: Input/output error"
        ):
            await store.recover()
        store.disk.heal(fault)
        await store.kill()
        await store.check()

    asyncio.run(run())
