from typing import Any

import pytest

from penstock.storage.directory.checkpoints import RECOVERY_POINTS, PartitionName
from penstock.storage.directory.metadata_files import CLEAN_SHUTDOWN
from penstock.storage.errors import DirectoryInUse, DirectoryMismatch
from penstock.storage.files import RealFileSystem
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk, Operation
from tests.storage.logs import all_values, append
from tests.storage.stores import append_durably, open_store, orders, run


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


def test_a_directory_keeps_its_id(disk: FaultyDisk) -> None:
    store = open_store(disk)
    run(store.close())
    disk = disk.crash()
    again = LogStore.open(
        "/data", files=disk, node_id=1, new_cluster_id=lambda: "other", new_directory_id=lambda: b"x" * 16
    )
    assert (again.cluster_id, again.node_id, again.directory_id) == ("cluster", 1, bytes(16))


def test_a_directory_of_another_broker_is_refused_with_an_explanation(disk: FaultyDisk) -> None:
    run(open_store(disk).close())
    with pytest.raises(DirectoryMismatch, match=r"set node\.id to 1"):
        open_store(disk, node_id=2)


def test_only_one_process_uses_a_directory(tmp_path: Any) -> None:
    store = open_store(RealFileSystem(), str(tmp_path / "data"))
    with pytest.raises(DirectoryInUse, match="another process is using"):
        open_store(RealFileSystem(), str(tmp_path / "data"))
    run(store.close())
    run(open_store(RealFileSystem(), str(tmp_path / "data")).close())


def test_records_survive_a_clean_stop(disk: FaultyDisk) -> None:
    store = open_store(disk)
    append(orders(store), "a")
    append(orders(store, 1), "b")
    run(store.close())
    store = open_store(disk.crash())
    assert store.was_clean
    assert store.partitions == {PartitionName("orders", 0), PartitionName("orders", 1)}
    assert [all_values(orders(store, n)) for n in (0, 1)] == [["a"], ["b"]]


def test_synced_records_survive_a_power_cut(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    run(append_durably(log, "a"))
    append(log, "lost")
    store = open_store(disk.crash())
    assert not store.was_clean
    assert all_values(orders(store)) == ["a"]


def test_an_unopened_log_does_not_count_as_recovered(disk: FaultyDisk) -> None:
    store = open_store(disk)
    for number in (0, 1):
        run(append_durably(orders(store, number), "a"))
    disk = disk.crash()
    store = open_store(disk)
    orders(store, 0)
    run(store.close())
    store = open_store(disk)
    assert not store.was_clean
    assert all_values(orders(store, 1)) == ["a"]


def test_idle_logs_hold_no_open_files(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    store.release_idle()
    append(log, "b")
    store.release_idle()
    open_before = len(log.cache)
    store.release_idle()
    assert (open_before, len(log.cache)) == (1, 0)
    assert all_values(log) == ["a", "b"]


def test_a_stop_with_a_failed_log_does_not_count_as_clean(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    disk.fail("sync", ".log", times=1)
    run(store.close())
    assert not open_store(disk).was_clean


def test_a_store_closes_on_a_full_disk(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    run(append_durably(log, "a"))
    disk.set_capacity(disk.used_bytes)
    run(store.close())
    disk.set_capacity(None)
    again = open_store(disk)
    assert not again.was_clean
    assert all_values(orders(again)) == ["a"]


def test_a_stop_during_which_a_log_grows_does_not_count_as_clean(
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
