"""Logs that recovery leaves unsynced become durable with one sync of the file system, or each with its own."""

import asyncio
import contextlib
from random import Random

import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.errors import StorageFailure
from penstock.storage.flusher import Flusher
from penstock.storage.store.log_store import LogStore
from penstock.testing.memory_files import DiskVolume
from penstock_simulation.disk import FaultyDisk
from tests.storage.logs import all_values, append, sync
from tests.storage.stores import open_store, orders


class Machine:
    """A broker's log with a durable record and one in the page cache, whose process was killed."""

    def __init__(self) -> None:
        self.disk = FaultyDisk(Random(1))
        log = orders(open_store(self.disk))
        append(log, "durable")
        sync(log)
        append(log, "in the page cache")
        self.disk = self.disk.kill()
        self.store = open_store(self.disk)

    def values_after_power_cut(self) -> list[str]:
        store = open_store(self.disk.crash())
        return all_values(orders(store))


@pytest.fixture
def machine() -> Machine:
    return Machine()


def flusher() -> Flusher:
    return Flusher(InlineOffload(), ManualClock())


async def close(store: LogStore) -> None:
    await store.close(flusher())


def test_a_log_opened_alone_is_durable(machine: Machine) -> None:
    log = orders(machine.store)
    assert (log.durable_offset, log.log_end_offset) == (2, 2)
    assert machine.values_after_power_cut() == ["durable", "in the page cache"]


def test_records_left_to_the_next_sync_are_not_durable_before_it(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    assert (log.committed_offset, log.log_end_offset) == (0, 2), "all of it was written again"
    assert machine.values_after_power_cut() == ["durable"], "records that had been synced stay durable"


def test_records_left_to_the_next_sync_are_durable_after_it(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    sync(log)
    assert log.committed_offset == 2
    assert machine.values_after_power_cut() == ["durable", "in the page cache"]


def test_one_sync_of_the_file_system_makes_all_open_logs_durable(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    before = machine.disk.operation_count
    asyncio.run(machine.store.sync_opened())
    assert "sync_all" in {operation for operation, _ in machine.disk.operations[before:]}
    assert (log.durable_offset, log.segments_durable_offset, log.has_unsynced) == (2, 2, False)
    assert log.may_journal
    assert machine.values_after_power_cut() == ["durable", "in the page cache"]


def test_the_file_system_is_opened_before_the_first_log_so_that_every_failed_write_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(machine.disk, "open_volume", opened.append)
    with machine.store.deferred_syncs():
        orders(machine.store)
    before = machine.disk.operation_count
    asyncio.run(machine.store.sync_opened())
    assert "sync_all" in {operation for operation, _ in machine.disk.operations[before:]}
    assert opened == []


def test_a_log_on_another_file_system_is_left_to_a_sync_of_its_own(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DiskVolume, "holds", lambda _volume, path: not path.endswith("orders-0"))
    with machine.store.deferred_syncs():
        logs = [orders(machine.store), orders(machine.store, 1)]
    asyncio.run(machine.store.sync_opened())
    assert [log.has_unsynced for log in logs] == [True, False]


def test_a_sync_of_the_file_system_that_fails_takes_the_open_logs_offline(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    machine.disk.fail("sync_all")
    asyncio.run(machine.store.sync_opened())
    assert log.failure is not None
    assert log.committed_offset == 0


def test_records_appended_during_a_sync_of_the_file_system_wait_for_another(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)

    def append_once(_path: str) -> None:
        if log.log_end_offset == 2:
            append(log, "meanwhile")

    machine.disk.before_sync(append_once)
    asyncio.run(machine.store.sync_opened())
    assert (log.durable_offset, log.has_unsynced) == (2, True)


def test_a_log_that_is_being_synced_is_left_to_that_sync(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    job = log.begin_sync()
    append(log, "meanwhile")
    asyncio.run(machine.store.sync_opened())
    assert (log.durable_offset, log.syncing) == (0, job)


def test_without_a_sync_of_the_file_system_every_log_is_synced_by_itself(
    machine: Machine,
) -> None:
    machine.disk = machine.disk.kill()
    machine.disk.can_sync_all = False
    machine.store = open_store(machine.disk)
    with machine.store.deferred_syncs():
        log = orders(machine.store)
    asyncio.run(machine.store.sync_opened())
    assert (log.durable_offset, log.has_unsynced) == (0, True)


def test_a_log_first_used_after_a_crash_writes_to_the_journal_only_after_a_sync(
    machine: Machine,
) -> None:
    log = orders(machine.store)
    append(log, "first")
    assert not log.may_journal
    sync(log)
    assert log.may_journal


def test_a_stop_before_that_sync_leaves_all_records_durable(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        orders(machine.store)
    asyncio.run(close(machine.store))
    assert machine.values_after_power_cut() == ["durable", "in the page cache"]


def test_only_logs_opened_during_the_start_are_left_to_that_sync(machine: Machine) -> None:
    with machine.store.deferred_syncs():
        pass
    assert orders(machine.store).durable_offset == 2


def test_a_sync_that_fails_takes_the_log_offline(machine: Machine) -> None:
    async def scenario() -> None:
        with machine.store.deferred_syncs():
            log = orders(machine.store)
        machine.disk.fail("sync")
        with pytest.raises(StorageFailure):
            await flusher().sync(log)
        assert log.failure is not None
        assert log.committed_offset == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("is_left", [False, True])
@pytest.mark.parametrize("appends", [False, True])
def test_a_log_whose_process_was_killed_before_its_first_sync_keeps_its_name(
    is_left: bool, appends: bool
) -> None:
    disk = FaultyDisk(Random(1))
    append(orders(open_store(disk)), "in the page cache")
    disk = disk.kill()
    store = open_store(disk)
    with store.deferred_syncs() if is_left else contextlib.nullcontext():
        log = orders(store)
    if appends:
        append(log, "another")
    if is_left or appends:
        sync(log)
        assert disk.unsynced_bytes("/data/orders-0/partition.metadata") == 0
    assert log.durable_offset == log.log_end_offset
    again = orders(open_store(disk.crash()))
    assert all_values(again) == ["in the page cache", "another"][: log.durable_offset]


def test_a_log_with_too_many_files_to_hold_open_is_synced_at_once() -> None:
    """Without a recovery point, a log may have more unsynced segments than the process may open files."""
    disk = FaultyDisk(Random(1))
    log = orders(open_store(disk), segment_records=1)
    values = [str(number) for number in range(20)]
    append(log, values[0])
    sync(log)
    for value in values[1:]:
        append(log, value)
    disk = disk.kill()
    store = open_store(disk)
    with store.deferred_syncs():
        log = orders(store, segment_records=1)
    assert len(log.chain.unsynced) <= 3
    sync(log)
    assert all_values(orders(open_store(disk.crash()), segment_records=1)) == values
