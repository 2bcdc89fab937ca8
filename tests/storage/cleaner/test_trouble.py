"""The cleaner among logs that are damaged, full, in use or not open."""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from penstock.runtime.offload import InlineOffload
from penstock.storage.cleaner.cleaner import Cleaner, CleanerSettings
from penstock.storage.cleaner.passes import CleanerPasses
from penstock.storage.compaction.rewrite import CompactionJob, CompactionResult
from penstock.storage.compaction.worker import OffloadedCompactor
from penstock.storage.damage.damage import Damage
from penstock.storage.directory.checkpoints import PartitionName, read_offsets
from penstock.storage.errors import LogCorrupt
from penstock.storage.log.log import Log
from penstock.storage.log.repair import LogRepair
from penstock_simulation.disk import Keep
from tests.storage.keyed_store import HOUR_MS, NOW_MS, TOPIC_ID, KeyedStore, Partition

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


def test_a_log_is_not_compacted_from_its_first_missing_record_on_until_it_is_repaired() -> None:
    store, missing, batch = with_missing_end()
    assert not store.compact()
    assert list(store.log.damaged) == [missing]
    assert [segment.base_offset for segment in store.log.segments] == [0, 3, 6]
    assert LogRepair(store.log).repair(missing, batch)
    assert store.compact()
    assert store.text() == "1:b=1 2:c=1 3:a=2 4:d=1 5:e=1 6:f=1"
    assert not store.cleaner.uncleanable


def test_what_is_repaired_during_a_pass_is_kept() -> None:
    store, missing, batch = with_missing_end()

    async def repair() -> None:
        store.log.damaged.set_found(0, [missing])
        assert LogRepair(store.log).repair(missing, batch)

    store.log.damaged.clear()  # nobody knew of it when the pass began
    store.cleaner._compactor = Interruptible(store, repair)
    store.compact()
    assert store.text() == "0:a=1 1:b=1 2:c=1 3:a=2 4:d=1 5:e=1 6:f=1"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]


def test_damage_that_is_found_during_a_pass_is_not_forgotten() -> None:
    store, missing, _ = with_missing_end()

    async def find() -> None:
        store.log.damaged.set_found(0, [missing])

    store.log.damaged.clear()
    store.cleaner._compactor = Interruptible(store, find)
    store.compact()
    assert list(store.log.damaged) == [missing]


def test_a_full_disk_is_waited_for() -> None:
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


class Interruptible(OffloadedCompactor):
    """Does something of the test's choosing after the rewrite and before the swap."""

    def __init__(self, store: KeyedStore, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(store.disk, InlineOffload())
        self._meanwhile = meanwhile

    async def run(self, job: CompactionJob) -> CompactionResult:
        result = await super().run(job)
        await self._meanwhile()
        return result


def test_a_log_that_is_truncated_meanwhile_keeps_its_truncation() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")

    async def truncate() -> None:
        store.log.truncate_to(2, now_ms=NOW_MS)

    store.cleaner._compactor = Interruptible(store, truncate)
    store.compact()
    assert store.text() == "0:a=1 1:a=2"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]
    assert not store.cleaner.uncleanable


def test_a_log_that_is_truncated_and_written_again_meanwhile_keeps_what_was_written() -> None:
    """Segments have the sizes that they had when the pass began, and other records."""
    store = KeyedStore()
    store.put("a=1 b=2 c=3 d=4 e=5 f=6 g=7")

    async def replace() -> None:
        store.log.lower_recovery_point(4)
        store.log.truncate_to(4, now_ms=NOW_MS)
        store.put("v=1 w=2 x=3")

    store.cleaner._compactor = Interruptible(store, replace)
    store.compact()
    assert store.text() == "0:a=1 1:b=2 2:c=3 3:d=4 4:v=1 5:w=2 6:x=3"
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap"))]
    assert not store.cleaner.uncleanable
    assert store.cleaner.clean_offset("t", 0) is None


class Held(InlineOffload):
    """The first piece of work is done, and whoever waits for it does not hear of it."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    async def run(self, work: Callable[[], T]) -> T:
        result = work()
        if not self.has_begun.is_set():
            self.has_begun.set()
            await asyncio.Event().wait()
        return result


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.EVERYTHING])
@pytest.mark.parametrize("is_refused", [False, True])
def test_a_truncation_ends_a_swap_that_a_power_cut_would_complete(keep: Keep, is_refused: bool) -> None:
    """A follower starts over, or there was an unclean election, while the names of the swap become durable."""
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.run(store.store.secure(store.log))

    async def replace() -> None:
        store.cleaner._offload = offload = Held()
        compaction = asyncio.ensure_future(store.cleaner.compact_filthiest())
        await offload.has_begun.wait()
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


def test_a_pass_that_is_given_up_leaves_no_files_by_which_a_later_swap_is_invalid() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")

    async def truncate() -> None:
        begun = asyncio.Event()

        async def hang() -> None:
            begun.set()
            await asyncio.Event().wait()

        store.cleaner._compactor = Interruptible(store, hang)
        compaction = asyncio.ensure_future(store.cleaner.compact_filthiest())
        await begun.wait()
        assert [name for name in store.files() if name.endswith(".cleaned")]
        await store.store.allow_truncation(store.log, 4)
        await compaction

    store.run(truncate())
    assert not [name for name in store.files() if name.endswith(".cleaned")]


def test_what_is_written_where_compacted_records_were_truncated_is_compacted() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.compact()
    assert store.cleaner.clean_offset("t", 0) == 6
    store.log.truncate_to(2, now_ms=NOW_MS)
    store.put("x=1 x=2 x=3 x=4 x=5 y=1 y=2")
    store.compact()
    assert store.text() == "5:x=4 6:x=5 7:y=1 8:y=2"


def test_a_topic_made_again_between_two_looks_of_the_cleaner_is_compacted_from_its_start() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1 b=2 b=3 c=1")
    store.compact()
    store.cleaner.uncleanable[PartitionName("t", 0)] = "of the test"
    store.store.delete("t", TOPIC_ID, 0)
    store.add_topic("t")
    store.put("a=1 a=2 a=3 a=4 a=5 a=6 b=1 b=2")
    store.compact()  # the first look at the new log finds that nothing is known against it
    store.compact()
    assert store.text() == "5:a=6 6:b=1 7:b=2"


def test_where_a_deleted_topic_was_compacted_is_not_written_down_for_the_next_start() -> None:
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

    store.cleaner._compactor = Interruptible(store, append)
    store.compact()
    assert store.text() == "2:a=3 3:b=1 4:c=1 5:d=1 6:e=1"


def test_pausing_ends_a_running_pass_and_keeps_new_ones_away() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")

    async def scenario() -> list[bool]:
        started = asyncio.Event()

        async def hang() -> None:
            started.set()
            await asyncio.Event().wait()

        store.cleaner._compactor = Interruptible(store, hang)
        running = asyncio.create_task(store.cleaner.compact_filthiest())
        await started.wait()
        async with store.store.passes.paused("t", 0):
            await running
            while_paused = await store.cleaner.compact_filthiest()
        store.cleaner._compactor = OffloadedCompactor(store.disk, InlineOffload())
        return [while_paused, await store.cleaner.compact_filthiest()]

    assert store.run(scenario()) == [False, True]
    assert store.text() == "2:a=3 3:b=1"


def test_stopping_the_cleaner_ends_a_running_pass() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")

    async def scenario() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def hang() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        store.cleaner._compactor = Interruptible(store, hang)
        running = asyncio.create_task(store.cleaner.run())
        await started.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert ended.is_set()

    store.run(scenario())
    store.crash()
    assert store.text() == "0:a=1 1:a=2 2:a=3 3:b=1"


def test_as_many_logs_are_compacted_at_once_as_the_setting_says_and_none_of_them_twice() -> None:
    store = KeyedStore()
    for topic in ("u", "v"):
        store.add_topic(topic)
    for topic in ("t", "u", "v"):
        store.put("a=1 a=2 a=3 b=1", topic=topic)
    gates = [asyncio.Event() for _ in store.logs]
    waiting = iter(gates)
    begun: list[int] = []

    async def wait() -> None:
        begun.append(len(store.store.passes.running))
        await next(waiting).wait()

    async def turns() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def scenario() -> None:
        store.cleaner._compactor = Interruptible(store, wait)
        running = asyncio.create_task(store.cleaner.run())
        await turns()
        assert len(begun) == 1
        store.settings = CleanerSettings(threads=2)
        store.clock.advance(store.settings.backoff_ms)
        await turns()
        assert len(begun) == 2
        gates[0].set()
        await turns()
        assert len(begun) == 3
        store.settings = CleanerSettings(threads=0)
        gates[1].set()
        gates[2].set()
        await turns()
        store.put("a=1 a=2 a=3 b=2", topic="u")
        store.clock.advance(store.settings.backoff_ms)
        await turns()
        assert len(begun) == 3
        running.cancel()
        await asyncio.wait([running])

    store.run(scenario())
    assert [store.cleaner.clean_offset(topic, 0) for topic in ("t", "u", "v")] == [3, 3, 3]
    assert max(begun) == 2


def test_the_cleaner_sweeps_and_compacts_by_the_clock() -> None:
    store = KeyedStore(cleanup_policy=["compact", "delete"], retention_ms=HOUR_MS)
    store.put("a=1 a=2 a=3 b=1")

    async def scenario() -> None:
        running = asyncio.create_task(store.cleaner.run())
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(store.log.segments) == 2
        assert store.cleaner.clean_offset("t", 0) == 3
        store.clock.advance(2 * HOUR_MS)
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])

    store.run(scenario())
    assert store.log.log_start_offset == 4
    assert store.text() == ""


class Unopened:
    """A partition whose log nobody has used yet; opening it may fail."""

    high_watermark = 0
    last_stable_offset = 0

    def __init__(self, error: Exception | None = None) -> None:
        self.is_open = False
        self._error = error

    @property
    def log(self) -> Log:
        raise self._error or AssertionError("it is opened")


def with_another(store: KeyedStore, another: Unopened) -> Cleaner:
    return Cleaner(
        "/data",
        lambda: [another, Partition(store.log)],
        store.store.secure,
        files=store.disk,
        clock=store.clock,
        offload=InlineOffload(),
        compactor=OffloadedCompactor(store.disk, InlineOffload()),
        passes=CleanerPasses(),
    )


@pytest.mark.parametrize("error", [LogCorrupt("damaged"), OSError(errno.EIO, "bad disk")])
def test_a_log_that_cannot_be_opened_does_not_keep_the_others_from_being_cleaned(error: Exception) -> None:
    store = KeyedStore(cleanup_policy=["compact", "delete"], retention_ms=HOUR_MS)
    cleaner = with_another(store, Unopened(error))
    store.put("a=1 a=2 a=3 b=1")
    assert store.run(cleaner.compact_filthiest())
    assert store.text() == "2:a=3 3:b=1"
    store.clock.advance(2 * HOUR_MS)
    assert store.run(cleaner.sweep()) == 2


def test_choosing_what_to_compact_opens_no_log() -> None:
    store = KeyedStore()
    assert not store.run(with_another(store, Unopened()).compact_filthiest())
