import pytest

from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload
from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.flusher import Flusher
from penstock_simulation.disk import FaultyDisk, Keep
from tests.storage.logs import all_values, append, config_of
from tests.storage.stores import append_durably, open_store, orders, run


def test_logs_keep_producers_for_the_stores_expiration_when_they_are_opened(disk: FaultyDisk) -> None:
    store = open_store(disk)
    assert orders(store, 0).producers.expiration_ms == 86_400_000
    store.producer_expiration_ms = 1000
    assert orders(store, 1).producers.expiration_ms == 1000
    run(store.close())
    again = open_store(disk)
    again.producer_expiration_ms = 2000
    assert orders(again, 1).producers.expiration_ms == 2000
    run(again.close())


def test_a_log_is_opened_once(disk: FaultyDisk) -> None:
    store = open_store(disk)
    assert store.get("orders", 0) is None
    log = orders(store)
    assert orders(store) is log
    assert store.get("orders", 0) is log


@pytest.mark.parametrize(("flush_messages", "kept"), [(1, 3), (1000, 1)])
def test_corrupted_committed_records_are_not_taken_for_a_torn_write(
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
def test_the_first_records_of_a_log_created_before_the_last_stop_survive_a_power_cut(
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


def test_the_log_of_another_topic_of_the_same_name_is_set_aside(disk: FaultyDisk) -> None:
    store = open_store(disk)
    append(orders(store), "old")
    run(store.close())
    store = open_store(disk)
    log = store.open_or_create("orders", b"another topic id", 0, config_of())
    assert all_values(log) == []
    [stray] = [name for name in disk.list("/data") if name.endswith("-stray")]
    assert disk.size(f"/data/{stray}/00000000000000000000.log") > 0
