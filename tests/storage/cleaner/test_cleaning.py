"""The cleaner and logs that are damaged, in use or unopened, and a full disk."""

import asyncio
import errno
from typing import TypeVar

import pytest

from penstock.storage.damage.damage import Damage
from penstock.storage.directory.checkpoints import PartitionName, read_offsets
from penstock.storage.log.repair import LogRepair
from penstock_simulation.disk import Keep
from tests.storage.keyed_store import NOW_MS, TOPIC_ID, KeyedStore

T = TypeVar("T")


def test_a_damaged_log_is_left_alone_and_the_others_are_compacted() -> None:
    store = KeyedStore()
    store.add_topic("u")
    store.put("a=1 a=2 a=3 b=1")
    store.put("a=1 a=2 a=3 b=1", topic="u")
    store.disk.flip_bit("/data/t-0/00000000000000000000.log", 70)
    while store.compact():
        pass
    assert list(store.cleaner.uncleanable) == [PartitionName("t", 0)]
    assert store.text(topic="u") == "2:a=3 3:b=1"
    assert len(store.log.segments) == 2
    assert not [n for n in store.files() if n.endswith(".cleaned")]


def with_missing_end() -> tuple[KeyedStore, Damage, bytes]:
    """The last of three records in the first segment is missing: its damage, and the batch that another replica has."""
    store = KeyedStore()
    store.put("a=1 b=1 c=1 a=2 d=1 e=1 f=1")
    segment = store.log.segments[0]
    position = segment.size_bytes // 3 * 2
    batch = segment.file().read(segment.size_bytes - position, position)
    segment.truncate_to(2, position)
    segment.file().sync()
    missing = Damage(segment=0, position=position, size_bytes=0, base_offset=2, next_offset=3)
    store.log.damaged.set_found(0, [missing])
    return store, missing, bytes(batch)


def test_a_log_is_compacted_only_up_to_its_first_missing_record_until_it_is_repaired() -> None:
    store, missing, batch = with_missing_end()
    assert not store.compact()
    assert list(store.log.damaged) == [missing]
    assert [segment.base_offset for segment in store.log.segments] == [0, 3, 6]
    assert LogRepair(store.log).repair(missing, batch)
    assert store.compact()
    assert store.text() == "1:b=1 2:c=1 3:a=2 4:d=1 5:e=1 6:f=1"
    assert not store.cleaner.uncleanable


def test_records_repaired_during_a_pass_are_kept() -> None:
    store, missing, batch = with_missing_end()

    async def repair() -> None:
        store.log.damaged.set_found(0, [missing])
        assert LogRepair(store.log).repair(missing, batch)

    store.log.damaged.clear()  # the damage was unknown when the pass began
    store.before_swap = repair
    store.compact()
    assert store.text() == "0:a=1 1:b=1 2:c=1 3:a=2 4:d=1 5:e=1 6:f=1"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]


def test_damage_found_during_a_pass_stays_known() -> None:
    store, missing, _ = with_missing_end()

    async def find() -> None:
        store.log.damaged.set_found(0, [missing])

    store.log.damaged.clear()
    store.before_swap = find
    store.compact()
    assert list(store.log.damaged) == [missing]


def test_compaction_resumes_when_a_full_disk_has_room_again() -> None:
    store = KeyedStore()
    store.put("a=1 b=1 a=2 c=1")
    store.run(store.store.secure(store.log))
    fault = store.disk.fail("write", ".cleaned", error=errno.ENOSPC)
    assert store.compact()
    assert not store.compact()
    assert store.text() == "0:a=1 1:b=1 2:a=2 3:c=1"
    store.disk.heal(fault)
    assert store.compact()
    assert store.text() == "1:b=1 2:a=2 3:c=1"
    assert not store.cleaner.uncleanable


def test_a_log_whose_recovery_point_cannot_be_written_is_not_compacted() -> None:
    store = KeyedStore()
    store.put("a=1 b=1 a=2 c=1")
    store.disk.fail("rename", "recovery-point-offset-checkpoint")
    store.compact()
    assert store.text() == "0:a=1 1:b=1 2:a=2 3:c=1"


def test_a_log_truncated_during_a_pass_stays_truncated() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")

    async def truncate() -> None:
        store.log.truncate_to(2, now_ms=NOW_MS)

    store.before_swap = truncate
    store.compact()
    assert store.text() == "0:a=1 1:a=2"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]
    assert not store.cleaner.uncleanable


def test_a_log_truncated_and_rewritten_during_a_pass_keeps_the_new_records() -> None:
    """Segments have the sizes that they had when the pass began, and other records."""
    store = KeyedStore()
    store.put("a=1 b=2 c=3 d=4 e=5 f=6 g=7")

    async def replace() -> None:
        store.log.lower_recovery_point(4)
        store.log.truncate_to(4, now_ms=NOW_MS)
        store.put("v=1 w=2 x=3")

    store.before_swap = replace
    store.compact()
    assert store.text() == "0:a=1 1:b=2 2:c=3 3:d=4 4:v=1 5:w=2 6:x=3"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]
    assert not store.cleaner.uncleanable
    assert store.cleaner.clean_offset("t", 0) is None


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.EVERYTHING])
@pytest.mark.parametrize("is_refused", [False, True])
def test_a_truncation_cancels_a_swap_that_recovery_would_complete_after_a_power_cut(
    keep: Keep, is_refused: bool
) -> None:
    """A follower starts over, or there was an unclean election, while the names of the swap become durable."""
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.run(store.store.secure(store.log))

    async def replace() -> None:
        has_begun = asyncio.Event()

        async def hang_once() -> None:
            if not has_begun.is_set():
                has_begun.set()
                await asyncio.Event().wait()

        store.after_offload = hang_once
        compaction = asyncio.ensure_future(store.cleaner.compact_dirtiest())
        await has_begun.wait()
        if is_refused:
            store.disk.fail("sync_dir", "/data/t-0", times=1)
        await store.store.allow_truncation(store.log, 1)
        store.log.truncate_to(1, now_ms=NOW_MS)
        store.put("x=1")
        store.disk = store.disk.crash(keep)
        compaction.cancel()
        await asyncio.wait([compaction])

    store.run(replace())
    store.open()
    assert store.text() == "0:a=1 1:x=1"


def test_a_cancelled_pass_leaves_no_files_that_invalidate_a_later_swap() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")

    async def truncate() -> None:
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            await asyncio.Event().wait()

        store.before_swap = hang
        compaction = asyncio.ensure_future(store.cleaner.compact_dirtiest())
        await begun.wait()
        assert [name for name in store.files() if name.endswith(".cleaned")]
        await store.store.allow_truncation(store.log, 4)
        await compaction

    store.run(truncate())
    assert not [name for name in store.files() if name.endswith(".cleaned")]


def test_records_written_where_compacted_ones_were_truncated_are_compacted() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.compact()
    assert store.cleaner.clean_offset("t", 0) == 6
    store.log.truncate_to(2, now_ms=NOW_MS)
    store.put("x=1 x=2 x=3 x=4 x=5 y=1 y=2")
    store.compact()
    assert store.text() == "5:x=4 6:x=5 7:y=1 8:y=2"


def test_a_topic_recreated_between_two_passes_is_compacted_from_its_start() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.compact()
    store.cleaner.uncleanable[PartitionName("t", 0)] = "of the test"
    store.store.delete("t", TOPIC_ID, 0)
    store.add_topic("t")
    store.put("a=1 a=2 a=3 a=4 a=5 a=6 b=1 b=2")
    store.compact()  # the first pass over the new log finds no checkpoint for it
    store.compact()
    assert store.text() == "5:a=6 6:b=1 7:b=2"


def test_the_cleaner_checkpoint_of_a_deleted_topic_is_not_saved() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.compact()
    store.store.delete("t", TOPIC_ID, 0)
    store.add_topic("t")
    store.compact()
    assert read_offsets(store.disk, "/data/cleaner-offset-checkpoint") == {}


def test_appends_during_a_pass_are_kept() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")

    async def append() -> None:
        store.put("c=1 d=1 e=1")

    store.before_swap = append
    store.compact()
    assert store.text() == "2:a=3 3:b=1 4:c=1 5:d=1 6:e=1"
