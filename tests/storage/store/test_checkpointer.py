import asyncio

import pytest

from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.log.values import LEADER_EPOCHS
from penstock.testing.offload import LoopOffload
from penstock_simulation.disk import FaultyDisk
from tests.storage.logs import all_values, append
from tests.storage.stores import append_durably, open_store, orders, run


def test_recovery_starts_at_the_last_checkpoint(disk: FaultyDisk) -> None:
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


def test_leader_epochs_of_a_cancelled_checkpoint_are_saved_at_the_stop(
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


def test_many_appended_bytes_start_a_checkpoint_by_themselves(
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
