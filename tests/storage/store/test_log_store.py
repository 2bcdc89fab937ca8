import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, TypeVar

import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.directory.checkpoints import RECOVERY_POINTS, PartitionName
from penstock.storage.directory.metadata_files import CLEAN_SHUTDOWN
from penstock.storage.errors import DirectoryInUse, DirectoryMismatch
from penstock.storage.files import FileSystem, RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.log.values import LEADER_EPOCHS
from penstock.storage.store.log_store import LogStore
from penstock.testing.offload import LoopOffload
from penstock_simulation.disk import FaultyDisk, Keep, Operation
from tests.storage.logs import NOW_MS, all_values, append, config_of

T = TypeVar("T")
ORDERS = bytes(range(16))


def open_store(
    files: FileSystem, directory: str = "/data", node_id: int = 1, offload: Offload | None = None
) -> LogStore:
    return LogStore.open(
        directory,
        files=files,
        node_id=node_id,
        new_cluster_id=lambda: "cluster",
        new_directory_id=lambda: bytes(16),
        clock=ManualClock(NOW_MS),
        offload=offload or InlineOffload(),
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk(Random(1))
    disk.make_dirs("/data")
    disk.sync_dir("/")
    return disk


def orders(store: LogStore, partition: int = 0, **settings: Any) -> Log:
    return store.open_or_create("orders", ORDERS, partition, config_of(**settings))


async def append_durably(log: Log, *values: str) -> None:
    append(log, *values)
    await Flusher(InlineOffload(), ManualClock()).sync(log)


def test_logs_remember_producers_as_long_as_the_store_says_when_they_are_opened(disk: FaultyDisk) -> None:
    store = open_store(disk)
    assert orders(store, 0).producers.expiration_ms == 86_400_000
    store.producer_expiration_ms = 1000
    assert orders(store, 1).producers.expiration_ms == 1000
    run(store.close())
    again = open_store(disk)
    again.producer_expiration_ms = 2000
    assert orders(again, 1).producers.expiration_ms == 2000
    run(again.close())


@pytest.mark.parametrize(("operation", "path"), [("rename", CLEAN_SHUTDOWN), ("read", RECOVERY_POINTS)])
def test_a_store_that_cannot_be_opened_releases_the_lock_of_its_directory(
    disk: FaultyDisk, operation: Operation, path: str
) -> None:
    store = open_store(disk)
    run(append_durably(orders(store), "a"))
    run(store.close())
    fault = disk.fail(operation, path)
    with pytest.raises(OSError, match="error"):
        open_store(disk)
    disk.heal(fault)
    run(open_store(disk).close())


def test_a_directory_keeps_its_identity(disk: FaultyDisk) -> None:
    store = open_store(disk)
    run(store.close())
    disk = disk.crash()
    again = LogStore.open(
        "/data", files=disk, node_id=1, new_cluster_id=lambda: "other", new_directory_id=lambda: b"x" * 16
    )
    assert (again.cluster_id, again.node_id, again.directory_id) == ("cluster", 1, bytes(16))


def test_a_directory_of_another_broker_is_refused_with_what_to_do(disk: FaultyDisk) -> None:
    run(open_store(disk).close())
    with pytest.raises(DirectoryMismatch, match=r"set node\.id to 1"):
        open_store(disk, node_id=2)


def test_only_one_process_uses_a_directory(tmp_path: Any) -> None:
    store = open_store(RealFileSystem(), str(tmp_path / "data"))
    with pytest.raises(DirectoryInUse, match="another process is using"):
        open_store(RealFileSystem(), str(tmp_path / "data"))
    run(store.close())
    run(open_store(RealFileSystem(), str(tmp_path / "data")).close())


def test_records_are_there_after_a_clean_stop(disk: FaultyDisk) -> None:
    store = open_store(disk)
    append(orders(store), "a")
    append(orders(store, 1), "b")
    run(store.close())
    store = open_store(disk.crash())
    assert store.was_clean
    assert store.partitions == {PartitionName("orders", 0), PartitionName("orders", 1)}
    assert [all_values(orders(store, n)) for n in (0, 1)] == [["a"], ["b"]]


def test_a_log_is_opened_once(disk: FaultyDisk) -> None:
    store = open_store(disk)
    assert store.get("orders", 0) is None
    log = orders(store)
    assert orders(store) is log
    assert store.get("orders", 0) is log


def test_what_was_synced_is_there_after_a_power_cut(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    run(append_durably(log, "a"))
    append(log, "lost")
    store = open_store(disk.crash())
    assert not store.was_clean
    assert all_values(orders(store)) == ["a"]


@pytest.mark.parametrize(("flush_messages", "kept"), [(1, 3), (1000, 1)])
def test_what_was_committed_and_synced_is_not_taken_for_a_torn_write_when_it_rots(
    disk: FaultyDisk, flush_messages: int, kept: int
) -> None:
    store = open_store(disk)
    log = orders(store, flush_messages=flush_messages)
    for value in ("a", "b", "c"):
        append(log, value)

    async def save() -> None:
        await Flusher(InlineOffload(), ManualClock()).sync(log)
        await store.save_high_watermarks({PartitionName("orders", 0): 2})

    run(save())
    size_bytes = log.segments[0].size_bytes // 3
    file = log.segments[0].file()
    file.write((b"?",), 2 * size_bytes - 2)
    file.sync()
    again = orders(open_store(disk.crash()), flush_messages=flush_messages)
    assert again.log_end_offset == kept


@pytest.mark.parametrize("power_is_cut", [False, True])
def test_the_first_records_of_a_log_that_was_made_before_the_last_stop_survive_a_power_cut(
    disk: FaultyDisk, power_is_cut: bool
) -> None:
    store = open_store(disk)
    orders(store)
    run(store.close())
    disk = disk.crash(Keep.PREFIX) if power_is_cut else disk.kill()
    log = orders(open_store(disk))
    run(append_durably(log, "a", "b"))
    disk = disk.crash()
    store = open_store(disk)
    assert disk.exists("/data/orders-0/partition.metadata")
    assert all_values(orders(store)) == ["a", "b"]


def test_a_log_that_was_not_opened_is_not_taken_for_recovered(disk: FaultyDisk) -> None:
    store = open_store(disk)
    for number in (0, 1):
        run(append_durably(orders(store, number), "a"))
    store = open_store(disk.crash())
    orders(store, 0)
    run(store.close())
    store = open_store(disk_of(store))
    assert not store.was_clean
    assert all_values(orders(store, 1)) == ["a"]


def disk_of(store: LogStore) -> FileSystem:
    return store._files


def test_a_checkpoint_lets_recovery_start_where_it_was_made(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a", "b")
    run(store.checkpoint())
    run(append_durably(log, "c"))
    log = orders(open_store(disk.crash()))
    assert log.recovery_point == 2
    assert all_values(log) == ["a", "b", "c"]


def test_a_deleted_start_stays_deleted(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    run(append_durably(log, "a"))
    run(append_durably(log, "b"))
    log.advance_log_start(1)
    run(store.checkpoint())
    log = orders(open_store(disk.crash()))
    assert (log.log_start_offset, all_values(log)) == (1, ["b"])


def test_high_watermarks_are_kept(disk: FaultyDisk) -> None:
    store = open_store(disk)
    orders(store)
    run(store.save_high_watermarks({PartitionName("orders", 0): 7}))
    store = open_store(disk.crash())
    assert store.high_watermark("orders", 0) == 7
    assert store.high_watermark("orders", 1) is None


def test_a_deleted_log_is_gone_at_once_and_its_files_soon(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    store.delete("orders", ORDERS, 0)
    assert store.partitions == set()
    assert [name for name in disk.list("/data") if name.startswith("orders")] == []
    with pytest.raises(Exception, match="deleted"):
        append(log, "b")
    assert orders(store).log_end_offset == 0


def test_a_deletion_that_was_interrupted_is_finished_at_the_next_start(disk: FaultyDisk) -> None:
    store = open_store(disk)
    orders(store)
    disk.rename("/data/orders-0", "/data/orders-0.0123-delete")
    store = open_store(disk.kill())
    assert [name for name in disk_of(store).list("/data") if name.startswith("orders")] == []


def test_the_log_of_another_topic_of_the_same_name_is_set_aside(disk: FaultyDisk) -> None:
    store = open_store(disk)
    append(orders(store), "old")
    run(store.close())
    store = open_store(disk)
    log = store.open_or_create("orders", b"another topic id", 0, config_of())
    assert all_values(log) == []
    [stray] = [name for name in disk.list("/data") if name.endswith("-stray")]
    assert disk.size(f"/data/{stray}/00000000000000000000.log") > 0


def test_idle_logs_hold_no_files(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    store.release_idle()
    append(log, "b")
    store.release_idle()
    open_before = len(store._cache)
    store.release_idle()
    assert (open_before, len(store._cache)) == (1, 0)
    assert all_values(log) == ["a", "b"]


def test_a_failed_log_keeps_the_stop_from_counting_as_clean(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    disk.fail("sync", ".log", times=1)
    run(store.close())
    assert not open_store(disk).was_clean


def test_a_full_disk_does_not_keep_a_store_from_closing(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    run(append_durably(log, "a"))
    disk.set_capacity(disk.used_bytes)
    run(store.close())
    disk.set_capacity(None)
    again = open_store(disk)
    assert not again.was_clean
    assert all_values(orders(again)) == ["a"]


def test_a_log_that_grows_while_the_store_is_closed_keeps_the_stop_from_counting_as_clean(
    disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seeds 398 and 1104 of the simulated clusters: a follower still fetched, and the next start refused its logs."""
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    save = LogStore.save_offsets

    async def save_and_append(closing: LogStore) -> bool:
        is_saved = await save(closing)
        append(log, "b")
        return is_saved

    monkeypatch.setattr(LogStore, "save_offsets", save_and_append)
    run(store.close())
    monkeypatch.undo()
    store = open_store(disk.kill())
    assert not store.was_clean
    assert all_values(orders(store)) == ["a", "b"]


def test_leader_epochs_that_a_cancelled_checkpoint_could_not_write_are_written_at_the_stop(
    disk: FaultyDisk,
) -> None:
    async def scenario() -> None:
        store = open_store(disk, offload=LoopOffload())
        log = orders(store)
        append(log, "a", epoch=3)
        await store.checkpoint()
        append(log, "b", epoch=7)
        disk.fail("write", LEADER_EPOCHS, times=1)
        checkpoint = asyncio.ensure_future(store.checkpoint())
        while log.syncing is None:
            await asyncio.sleep(0)
        checkpoint.cancel()  # the broker stops
        await asyncio.wait([checkpoint])
        await store.close()

    run(scenario())
    again = open_store(disk)
    assert again.was_clean
    assert orders(again).epochs.latest_epoch == 7


def test_much_appended_moves_the_recovery_point_without_being_asked(
    disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.storage.log.log.CHECKPOINT_BYTES", 1_000)

    async def scenario() -> None:
        store = open_store(disk)
        log = orders(store)
        await append_durably(log, "a" * 2_000)
        for _ in range(5):
            await asyncio.sleep(0)
        assert log.recovery_point == 1

    run(scenario())
    assert orders(open_store(disk.crash())).recovery_point == 1
