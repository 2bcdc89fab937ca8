"""A machine whose disk flips bits where a checksum detects them."""

from random import Random

import pytest

from penstock.protocol.records.batch import crc_is_valid, iter_batches
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, PartitionName, write_offsets
from penstock_simulation.cluster.machine import Machine
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import SimulatedNetwork

PATH = "/data/orders-2/00000000000000000000.log"
COUNT = 12
COMMITTED = 10
ROOM = bytes(1000)


def machine_of(node_id: int) -> Machine:
    return Machine(SimulatedLoop(SimulatedNetwork(Random(1)), Random(1)), 1, node_id, ())


@pytest.fixture
def machine() -> Machine:
    return machine_of(1)


@pytest.fixture
def other() -> Machine:
    return machine_of(2)


def store(machine: Machine, *, count: int = COUNT, committed: int = COMMITTED) -> bytes:
    batches = [
        build_batch([NewRecord(value=b"%d" % number)], base_offset=number, leader_epoch=3)
        for number in range(count)
    ]
    content = b"".join(batches)
    machine.disk.make_dirs("/data/orders-2")
    file = machine.disk.open(PATH, create=True)
    file.write([content + ROOM], 0)
    file.sync()
    file.close()
    names = {PartitionName("orders", 2): committed, PartitionName("ledger", 0): committed}
    write_offsets(machine.disk, f"/data/{HIGH_WATERMARKS}", names)
    return content


def content_of(machine: Machine) -> bytes:
    return bytes(machine.disk.open(PATH, writable=False).read(1 << 20, 0))


@pytest.mark.parametrize("seed", range(20))
def test_one_bit_flips_where_a_checksum_or_a_length_detects_it(
    machine: Machine, other: Machine, seed: int
) -> None:
    before = store(machine)
    store(other)
    assert machine.corrupt("orders", Random(seed), [machine_of(3), other]) == "orders-2"
    after = content_of(machine)
    (place,) = [at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
    assert (before[place] ^ after[place]).bit_count() == 1
    position, header = next(
        (at, each) for at, each in iter_batches(before) if at <= place < at + each.size_bytes
    )
    assert header.next_offset < COMMITTED  # the latest are spared
    assert place - position not in {*range(8), *range(12, 16)}
    if place - position >= 16:
        assert not crc_is_valid(after, position, header.size_bytes)


def test_no_bit_flips_where_nothing_is_stored(machine: Machine, other: Machine) -> None:
    machine.disk.make_dirs("/data")
    store(other)
    assert machine.corrupt("orders", Random(1), [other]) is None
    store(machine)
    assert machine.corrupt("ledger", Random(1), [other]) is None


@pytest.mark.parametrize("count", [0, 3])
def test_the_only_copy_of_a_batch_is_not_corrupted(machine: Machine, other: Machine, count: int) -> None:
    store(other, count=count)  # its high watermark is not evidence: the batches themselves are searched
    before = store(machine)
    places = set()
    for seed in range(40):
        machine.corrupt("orders", Random(seed), [other])
        after = content_of(machine)
        places |= {at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new}
    offsets = {
        header.base_offset
        for at, header in iter_batches(before)
        if places & set(range(at, at + header.size_bytes))
    }
    assert offsets == set(range(count))


def test_a_batch_that_the_other_machine_may_still_lose_is_not_corrupted(
    machine: Machine, other: Machine
) -> None:
    store(other, committed=0)
    before = store(machine)
    assert all(machine.corrupt("orders", Random(seed), [other]) is None for seed in range(20))
    assert content_of(machine)[: len(before)] == before


def test_a_machine_needs_a_restart_when_its_disk_is_full(machine: Machine) -> None:
    assert not machine.needs_restart
    machine.is_disk_full = True
    assert machine.needs_restart


def test_a_machine_whose_power_was_cut_needs_a_restart(machine: Machine) -> None:
    machine.disk.crash()
    assert machine.needs_restart


def test_a_log_ends_after_its_last_batch_or_at_a_torn_one_before_the_next_segment(
    machine: Machine,
) -> None:
    content = store(machine)
    assert machine.intact_end_offset("orders", 2) == COUNT
    following = machine.disk.open(f"/data/orders-2/{COUNT:020}.log", create=True)
    following.write([build_batch([NewRecord(value=b"next")], base_offset=COUNT, leader_epoch=3)], 0)
    following.close()
    assert machine.intact_end_offset("orders", 2) == COUNT + 1
    first = machine.disk.open(PATH)
    first.truncate(len(content) - 20)
    first.close()
    assert machine.intact_end_offset("orders", 2) == COUNT - 1
