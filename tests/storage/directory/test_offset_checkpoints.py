import asyncio
import itertools
from random import Random

import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.directory.checkpoints import (
    LOG_STARTS,
    RECOVERY_POINTS,
    PartitionName,
    read_offsets,
    write_offsets,
)
from penstock.storage.directory.offset_checkpoints import OffsetCheckpoints
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.storage.logs import all_values, append, config_of
from tests.storage.stores import open_store

OLD_ID, NEW_ID = b"old".ljust(16), b"new".ljust(16)
A, B = PartitionName("a", 0), PartitionName("b", 0)


def log_of(store: LogStore, topic_id: bytes) -> Log:
    return store.open_or_create("a", topic_id, 0, config_of())


async def append_durably(log: Log, *values: str) -> None:
    for value in values:
        append(log, value)
    await Flusher(InlineOffload(), ManualClock()).sync(log)


async def delete_and_recreate(store: LogStore) -> None:
    """The old log's checkpointed offsets lie above the end of the new one."""
    old = log_of(store, OLD_ID)
    await append_durably(old, "0", "1", "2", "3", "4")
    old.advance_log_start(3)
    await store.checkpoint()
    store.delete("a", OLD_ID, 0)
    await append_durably(log_of(store, NEW_ID), "new")


@pytest.mark.parametrize("keep", [*Keep, None])
def test_checkpoints_of_a_deleted_log_do_not_apply_to_a_new_one_of_its_name(
    keep: Keep | None, disk: FaultyDisk
) -> None:
    asyncio.run(delete_and_recreate(open_store(disk)))
    disk = disk.kill() if keep is None else disk.crash(keep)
    log = log_of(open_store(disk), NEW_ID)
    assert (log.log_start_offset, all_values(log), log.damage) == (0, ["new"], ())


def test_a_crash_anywhere_between_deletion_and_recreation_loses_nothing_of_the_new_log() -> None:
    for operation_count in itertools.count():
        disk = FaultyDisk(Random(operation_count))
        disk.make_dirs("/data")
        disk.sync_dir("/")
        disk.cut_power_at(operation_count)
        try:
            asyncio.run(delete_and_recreate(open_store(disk)))
            has_ended = True
        except PowerCut:
            has_ended = False
        disk.cut_power_at(1 << 60)
        disk = disk.crash()
        log = log_of(open_store(disk), NEW_ID)
        assert all_values(log) in (["new"], []), operation_count
        asyncio.run(append_durably(log, "next"))
        log = log_of(open_store(disk.kill()), NEW_ID)
        assert all_values(log)[-1:] == ["next"], operation_count
        if has_ended:
            assert all_values(log) == ["new", "next"]
            return


def test_checkpoints_of_logs_that_do_not_exist_are_dropped(disk: FaultyDisk) -> None:
    write_offsets(disk, f"/data/{RECOVERY_POINTS}", {A: 7, B: 8})
    assert OffsetCheckpoints(disk, "/data", {B}).recovery_points == {B: 8}


def test_a_checkpoint_prepared_before_a_log_was_recreated_is_not_applied_to_it(disk: FaultyDisk) -> None:
    offsets = OffsetCheckpoints(disk, "/data", {A})
    offsets.log_starts[A] = 3
    late = offsets.prepare(LOG_STARTS, offsets.log_starts)
    offsets.erase(A)
    late()
    assert read_offsets(disk, f"/data/{LOG_STARTS}") == {}


def test_a_failed_write_may_still_have_reached_the_disk(disk: FaultyDisk) -> None:
    offsets = OffsetCheckpoints(disk, "/data", {A})
    offsets.log_starts[A] = 3
    disk.fail("sync_dir", "/data", times=1)
    with pytest.raises(OSError):
        offsets.prepare(LOG_STARTS, offsets.log_starts)()
    offsets.erase(A)
    assert read_offsets(disk, f"/data/{LOG_STARTS}") == {}


def test_a_log_without_checkpoints_is_created_without_a_write(disk: FaultyDisk) -> None:
    offsets = OffsetCheckpoints(disk, "/data", {A})
    offsets.recovery_points[A] = 3
    offsets.prepare(RECOVERY_POINTS, offsets.recovery_points)()
    disk.fail("sync", RECOVERY_POINTS)
    offsets.erase(B)
    with pytest.raises(OSError):
        offsets.erase(A)


def test_the_highest_possible_offset_includes_failed_and_pending_writes(
    disk: FaultyDisk,
) -> None:
    write_offsets(disk, f"/data/{RECOVERY_POINTS}", {A: 7})
    offsets = OffsetCheckpoints(disk, "/data", {A, B})
    assert (offsets.highest(RECOVERY_POINTS, A), offsets.highest(RECOVERY_POINTS, B)) == (7, 0)
    disk.fail("write", RECOVERY_POINTS, times=1)
    with pytest.raises(OSError):
        offsets.prepare(RECOVERY_POINTS, {A: 2})()
    assert offsets.highest(RECOVERY_POINTS, A) == 7
    offsets.prepare(RECOVERY_POINTS, {A: 2})()
    assert offsets.highest(RECOVERY_POINTS, A) == 2
    offsets.prepare(RECOVERY_POINTS, {A: 5})
    assert offsets.highest(RECOVERY_POINTS, A) == 5
