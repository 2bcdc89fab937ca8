import itertools

import pytest

from penstock.storage.compaction import swap
from penstock.storage.compaction.rewrite import compact
from penstock.storage.files import read_whole
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.storage.segments import DIRECTORY, all_pairs, job_of, new_disk, write_log

FIRST = "00000000000000000000"
BEFORE = "0:a=1 1:b=1 2:a=2 3:c=1 4:b=2 5:d=1 6:a=3 7:d=2 8:a=4 9:e=1"
AFTER = "3:c=1 4:b=2 7:d=2 8:a=4 9:e=1"


def build(disk: FaultyDisk) -> None:
    write_log(disk, "a=1 b=1|a=2", "c=1|b=2 d=1", "a=3 d=2|a=4", "e=1")
    for base in (0, 3, 6):
        stale = disk.open(f"{DIRECTORY}/{base:020d}.index", create=True)
        stale.write([b"stale"], 0)
        stale.sync()
    disk.sync_dir(DIRECTORY)


def compact_and_swap(disk: FaultyDisk, *, group_count: int) -> None:
    """A whole compaction of the three sealed segments into one or two."""
    segments = write_log(new_disk(), "a=1 b=1|a=2", "c=1|b=2 d=1", "a=3 d=2|a=4")
    segment_bytes_max = 1 << 20 if group_count == 1 else segments[0].size_bytes + segments[1].size_bytes
    result = compact(disk, job_of(segments, end=9, segment_bytes_max=segment_bytes_max))
    assert len(result.cleaned) == group_count
    for cleaned in result.cleaned:
        swap.mark(disk, DIRECTORY, cleaned.base_offset)
        disk.sync_dir(DIRECTORY)
        swap.replace_old(disk, DIRECTORY, cleaned.base_offset, cleaned.replaces)
        swap.finish(disk, DIRECTORY, cleaned.base_offset)
        disk.sync_dir(DIRECTORY)


def newest(pairs: str) -> dict[str, str]:
    """The value of every key as a reader of the whole log sees it."""
    return dict(word.split(":")[1].split("=") for word in pairs.split())


def check(disk: FaultyDisk, context: str) -> None:
    pairs = all_pairs(disk)
    offsets = [int(word.split(":")[0]) for word in pairs.split()]
    assert offsets == sorted(set(offsets)), f"{context}: duplicated or out of order: {pairs}"
    assert newest(pairs) == newest(BEFORE), f"{context}: {pairs}"
    assert set(pairs.split()) <= set(BEFORE.split()), f"{context}: {pairs}"
    leftovers = [n for n in disk.list(DIRECTORY) if n.endswith((".cleaned", ".swap", ".deleted"))]
    assert not leftovers, f"{context}: {leftovers}"
    bases = {n[:20] for n in disk.list(DIRECTORY) if n.endswith(".log")}
    for name in disk.list(DIRECTORY):
        if name.endswith(".index") and read_whole(disk, f"{DIRECTORY}/{name}") == b"stale":
            assert name[:20] in bases, f"{context}: an index without its log: {name}"
            assert all_pairs(disk, f"{name[:20]}.log") in BEFORE, f"{context}: {name} belongs to another log"


@pytest.mark.parametrize("group_count", [1, 2])
def test_an_undisturbed_compaction_keeps_the_newest_record_of_every_key(group_count: int) -> None:
    disk = new_disk()
    build(disk)
    compact_and_swap(disk, group_count=group_count)
    assert all_pairs(disk) == AFTER
    after = disk.crash()
    swap.resolve(after, DIRECTORY)
    assert all_pairs(after) == AFTER
    check(after, "done")


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.PREFIX, Keep.PAGES, Keep.EVERYTHING, None])
@pytest.mark.parametrize("group_count", [1, 2])
def test_a_crash_at_any_operation_of_a_compaction_neither_loses_nor_duplicates_records(
    group_count: int, keep: Keep | None
) -> None:
    """`None` kills the process alone. The recovery is itself cut off at each of its operations."""
    for operation_count in itertools.count():
        seed = 1000 + operation_count
        disk = new_disk(seed)
        build(disk)
        disk.cut_power_at(operation_count)
        try:
            compact_and_swap(disk, group_count=group_count)
        except PowerCut:
            pass
        else:
            assert operation_count > 20
            return
        disk = disk.kill() if keep is None else disk.crash(keep)
        context = f"operation {operation_count}, seed {seed}, {keep}"
        for recovery_count in itertools.count():
            disk.cut_power_at(recovery_count)
            try:
                swap.resolve(disk, DIRECTORY)
            except PowerCut:
                disk = disk.kill() if keep is None else disk.crash(keep)
            else:
                break
        check(disk, context)
        disk = disk.crash()
        swap.resolve(disk, DIRECTORY)
        check(disk, context + ", and a power cut after recovery")


def test_files_marked_for_deletion_are_deleted_at_a_restart() -> None:
    disk = new_disk()
    build(disk)
    disk.rename(f"{DIRECTORY}/{FIRST}.log", f"{DIRECTORY}/{FIRST}.log.deleted")
    swap.resolve(disk, DIRECTORY)
    assert not disk.exists(f"{DIRECTORY}/{FIRST}.log.deleted")
    assert all_pairs(disk) == "3:c=1 4:b=2 5:d=1 6:a=3 7:d=2 8:a=4 9:e=1"


def test_a_directory_without_leftovers_is_not_written_to() -> None:
    disk = new_disk()
    build(disk)
    count = disk.operation_count
    swap.resolve(disk, DIRECTORY)
    assert disk.operation_count == count


def test_a_compacted_segment_can_be_discarded_before_its_swap() -> None:
    disk = new_disk()
    build(disk)
    compact(disk, job_of(write_log(new_disk(), "a=1 b=1|a=2", "c=1|b=2 d=1", "a=3 d=2|a=4"), end=9))
    swap.mark(disk, DIRECTORY, 0)
    swap.discard(disk, DIRECTORY, 0)
    assert all_pairs(disk) == BEFORE
    check(disk, "discarded")
