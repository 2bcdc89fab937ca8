import pytest

from penstock_simulation.disk import FaultyDisk
from tests.storage.logs import append
from tests.storage.stores import ORDERS, open_store, orders


def test_a_deleted_log_is_renamed_at_once_and_its_files_are_deleted_later(disk: FaultyDisk) -> None:
    store = open_store(disk)
    log = orders(store)
    append(log, "a")
    store.delete("orders", ORDERS, 0)
    assert store.partitions == set()
    assert [name for name in disk.list("/data") if name.startswith("orders")] == []
    with pytest.raises(Exception, match="deleted"):
        append(log, "b")
    assert orders(store).log_end_offset == 0


def test_an_interrupted_deletion_is_completed_at_the_next_start(disk: FaultyDisk) -> None:
    orders(open_store(disk))
    disk.rename("/data/orders-0", "/data/orders-0.0123-delete")
    disk = disk.kill()
    open_store(disk)
    assert [name for name in disk.list("/data") if name.startswith("orders")] == []
