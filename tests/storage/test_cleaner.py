import asyncio
import errno
import itertools
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from penstock.observability.offload import InlineOffload
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.storage.checkpoints import PartitionName, read_offsets
from penstock.storage.cleaner import Cleaner
from penstock.storage.compaction_rewrite import CompactionJob, CompactionResult
from penstock.storage.compaction_worker import OffloadedCompactor
from penstock.storage.log import Log
from penstock.storage.log_errors import LogCorrupt
from penstock.storage.log_values import Origin
from penstock.testing.disk import Keep, PowerCut
from tests.storage.keyed_store import HOUR_MS, NOW_MS, KeyedStore, Partition

# -- compaction -----------------------------------------------------------------------------------------


def test_sealed_segments_keep_the_newest_of_every_key_and_the_active_one_is_not_touched() -> None:
    store = KeyedStore()
    store.put("a=1 b=1 a=2 c=1 b=2 a=3 a=4")
    assert store.compact()
    assert store.text() == "3:c=1 4:b=2 5:a=3 6:a=4"
    assert store.log.log_end_offset == 7
    assert store.cleaner.clean_offset("t", 0) == 6


def test_a_consumer_reads_across_the_gaps_from_any_offset() -> None:
    store = KeyedStore(segment_bytes=300)
    store.put("a=1 b=1 a=2 c=1 b=2 a=3 a=4")
    store.compact()
    everything = store.text().split()
    for offset in range(8):
        expected = [word for word in everything if int(word.split(":")[0]) >= offset]
        assert store.text(offset).split() == expected, f"from {offset}"


def test_appends_go_on_after_a_compaction_with_the_next_offset() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 a=4")
    store.compact()
    store.put("b=1")
    assert store.text() == "2:a=3 3:a=4 4:b=1"


def test_times_are_found_after_a_compaction() -> None:
    store = KeyedStore()
    for word in ("a=1", "b=1", "a=2", "c=1", "b=2", "a=3", "a=4"):
        store.put(word)
        store.clock.advance(1000)
    store.compact()

    def offset_at(time_ms: int) -> int | None:
        found = store.run(store.log.offset_for_timestamp(time_ms))
        return None if found is None else found.offset

    assert [offset_at(NOW_MS + seconds * 1000) for seconds in range(8)] == [3, 3, 3, 3, 4, 5, 6, None]


def test_a_tombstone_is_kept_for_delete_retention_and_then_removed() -> None:
    store = KeyedStore(delete_retention_ms=HOUR_MS)
    store.put("a=1 a b=1 x=1")
    store.compact()
    assert store.text() == "1:a 2:b=1 3:x=1"
    store.put("y=1 z=1")
    store.clock.advance(HOUR_MS - 1)
    store.put("y=2")
    store.compact()
    assert "1:a " in store.text()
    store.clock.advance(1)
    store.put("y=3 y=4 y=5")
    store.compact()
    assert "1:a" not in store.text()
    assert "2:b=1" in store.text()


def test_records_without_a_key_are_dropped_when_a_topic_becomes_compacted() -> None:
    store = KeyedStore(cleanup_policy=["delete"])
    store.put("=1 a=1 b=1 c=1")
    store.configure(cleanup_policy=frozenset({"compact"}))
    store.compact()
    assert store.text() == "1:a=1 2:b=1 3:c=1"


def test_a_second_pass_looks_only_at_what_is_new() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")
    assert store.compact()
    assert not store.compact()
    store.put("b=2 b=3 c=1")
    assert store.compact()
    assert store.text() == "2:a=3 5:b=3 6:c=1"


def test_a_clean_log_is_not_compacted_below_its_dirty_ratio() -> None:
    store = KeyedStore(min_cleanable_dirty_ratio=0.5)
    store.put(" ".join(f"k{n}=1" for n in range(13)))
    assert store.compact()
    store.put("k0=2 k0=3 k0=4")
    assert not store.compact()


def test_records_above_the_last_stable_offset_are_left_alone() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3")
    store.put_as(7, 0, "a=open", is_transactional=True)
    store.put("a=4 a=5 a=6 a=7")
    store.compact()
    assert store.text() == "2:a=3 3:a=open 4:a=4 5:a=5 6:a=6 7:a=7"


def test_aborted_records_go_and_committed_ones_stay() -> None:
    store = KeyedStore(segment_records=4)

    def end(is_commit: bool) -> None:
        marker = EndTxnMarker(is_commit=is_commit, coordinator_epoch=0)
        batch = build_end_txn_batch(marker, producer_id=7, producer_epoch=0, timestamp=NOW_MS)
        store.append(batch, origin=Origin.COORDINATOR)
        store.sync()

    store.put("a=1")
    store.put_as(7, 0, "a=aborted", is_transactional=True)
    end(is_commit=False)
    store.put_as(7, 1, "b=committed", is_transactional=True)
    end(is_commit=True)
    store.put("x=1 y=1 z=1 w=1")
    store.log.producers.advance_high_watermark(store.log.log_end_offset)
    store.compact()
    assert store.text().startswith("0:a=1 3:b=committed")
    assert [txn.first_offset for txn in store.log.aborted_transactions(0, 9)] == [1]
    store.crash()
    assert store.text().startswith("0:a=1 3:b=committed")
    assert [txn.first_offset for txn in store.log.aborted_transactions(0, 9)] == [1]


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_an_idempotent_producer_is_still_known_after_compaction_and_restart(stop: str) -> None:
    store = KeyedStore()
    for sequence in range(3):
        store.put_as(7, sequence, f"a={sequence}")
    store.put("a=x b=1 b=2 b=3")
    store.compact()
    assert "a=2" not in store.text()
    if stop == "clean":
        store.restart()
    else:
        store.crash()
    retried = store.put_as(7, 2, "a=2")
    assert (retried.duplicate, retried.base_offset) == (True, 2)
    assert not store.put_as(7, 3, "a=3").duplicate


def test_the_last_sequence_of_a_producer_outlives_the_loss_of_all_snapshots() -> None:
    store = KeyedStore()
    for sequence in range(3):
        store.put_as(7, sequence, f"a={sequence}")
    store.put("a=x b=1 b=2 b=3")
    store.compact()
    store.disk = store.disk.crash()
    for path in store.disk.paths():
        if path.endswith(".snapshot"):
            store.disk.remove(path)
    store.open()
    assert store.put_as(7, 2, "a=2").duplicate
    assert store.put_as(7, 3, "a=3").base_offset == 7


def test_the_cleaner_goes_on_where_it_stopped_after_a_restart() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")
    store.compact()
    assert read_offsets(store.disk, "/data/cleaner-offset-checkpoint") == {PartitionName("t", 0): 3}
    store.restart()
    assert not store.compact()
    store.put("b=2 b=3 c=1")
    assert store.compact()
    assert store.text() == "2:a=3 5:b=3 6:c=1"


def test_the_place_in_a_log_that_is_not_open_yet_is_not_forgotten() -> None:
    store = KeyedStore()
    store.add_topic("u")
    for topic in ("t", "u"):
        store.put("a=1 a=2 a=3 b=1", topic=topic)
    while store.compact():
        pass
    del store.topics["u"]
    store.restart()
    store.put("b=2 b=3 c=1")
    assert store.compact()
    assert read_offsets(store.disk, "/data/cleaner-offset-checkpoint") == {
        PartitionName("t", 0): 6,
        PartitionName("u", 0): 3,
    }


def test_a_topic_that_is_made_anew_is_compacted_from_its_start() -> None:
    store = KeyedStore()
    store.add_topic("u")
    store.put("a=1 a=2 a=3 b=1", topic="u")
    assert store.compact()
    store.store.delete("u", 0)
    del store.logs["u"]
    assert not store.compact()
    store.add_topic("u")
    store.put("a=1 a=2 a=3 a=4 a=5 a=6 b=1", topic="u")
    assert store.compact()
    assert store.text(topic="u") == "5:a=6 6:b=1"


def test_the_filthiest_log_is_compacted_first() -> None:
    store = KeyedStore()
    store.add_topic("u")
    store.put("a=1 b=1 c=1 d=1")
    store.compact()
    store.put("a=2 b=2 c=2")
    store.put("a=1 a=2 a=3 b=1", topic="u")
    store.compact()
    assert store.text(topic="u") == "2:a=3 3:b=1"
    assert store.text().startswith("0:a=1")


def test_readers_hold_on_to_what_they_have_open_while_segments_are_replaced() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")
    cache = store.store._cache
    pinned = cache.pin(store.log.segments[0].log_path)
    store.compact()
    assert [h.base_offset for _, h in iter_batches_strict(pinned.file.read(1 << 20, 0))] == [0, 1, 2]
    cache.unpin(pinned)
    assert store.text() == "2:a=3 3:b=1"


# -- crashes --------------------------------------------------------------------------------------------

HISTORY = "a=1 b=1 a=2 c=1 b=2 d=1 a=3 c e=1 b=3 a=4 f=1 d=2 e=2"


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.PREFIX, Keep.PAGES, Keep.EVERYTHING])
@pytest.mark.parametrize("segment_bytes", [300, 1 << 20])
def test_a_crash_at_any_operation_of_a_pass_loses_and_doubles_nothing(segment_bytes: int, keep: Keep) -> None:
    before: dict[str, str | None] = {}
    for operation_count in itertools.count():
        context = f"operation {operation_count}"
        store = KeyedStore(seed=operation_count, segment_bytes=segment_bytes)
        for sequence in range(2):
            store.put_as(7, sequence, f"p={sequence}")
        store.put(HISTORY)
        before = store.newest()
        end = store.log.log_end_offset
        store.disk.cut_power_at(operation_count)
        try:
            store.compact()
            finished = True
        except PowerCut:
            finished = False
        store.disk.cut_power_at(1 << 60)
        store.crash(keep)
        check_table(store, before, end, context)
        assert store.put_as(7, 1, "p=1").duplicate, context
        store.put("a=5")
        while store.compact():
            pass
        check_table(store, before | {"a": "5"}, end + 1, context + ", compacted again")
        store.crash()
        check_table(store, before | {"a": "5"}, end + 1, context + ", compacted again and crashed")
        if finished:
            assert operation_count > 20
            return


def check_table(store: KeyedStore, table: dict[str, str | None], end: int, context: str) -> None:
    assert store.newest() == table, context
    offsets = [record.offset for record in store.records()]
    assert offsets == sorted(set(offsets)), context
    assert store.log.log_end_offset == end, context
    assert not store.log.damage, context
    assert not [n for n in store.files() if n.endswith((".cleaned", ".swap", ".deleted"))], context


# -- trouble --------------------------------------------------------------------------------------------


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
        async with store.cleaner.paused("t", 0):
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


# -- retention ------------------------------------------------------------------------------------------


def test_expired_segments_go_and_the_start_stays_moved_after_a_power_cut() -> None:
    store = KeyedStore(cleanup_policy=["delete"], retention_ms=HOUR_MS)
    store.put("a=1 b=1 c=1")
    store.clock.advance(2 * HOUR_MS)
    store.put("d=1")
    assert store.sweep() == 1
    assert store.log.log_start_offset == 3
    assert store.text() == "3:d=1"
    store.crash()
    assert store.log.log_start_offset == 3
    assert store.text() == "3:d=1"


def test_when_all_has_expired_the_log_is_empty_and_goes_on_at_the_next_offset() -> None:
    store = KeyedStore(cleanup_policy=["delete"], retention_ms=HOUR_MS)
    store.put("a=1 b=1 c=1 d=1")
    store.clock.advance(2 * HOUR_MS)
    store.sweep()
    assert (store.log.log_start_offset, store.log.log_end_offset) == (4, 4)
    store.put("e=1")
    store.crash()
    assert store.text() == "4:e=1"


def test_a_log_that_is_too_large_loses_its_oldest_segments() -> None:
    store = KeyedStore(cleanup_policy=["delete"], segment_records=1)
    store.put("a=1 b=1 c=1 d=1")
    store.configure(retention_bytes=2 * store.log.segments[0].size_bytes)
    assert store.sweep() == 2
    assert store.text() == "2:c=1 3:d=1"


def test_no_more_closed_segments_are_kept_than_the_topic_says() -> None:
    store = KeyedStore(cleanup_policy=["delete"], segment_records=1, retention_segments=2)
    store.put("a=1 b=1 c=1 d=1 e=1")
    assert store.sweep() == 2
    assert store.text() == "2:c=1 3:d=1 4:e=1"


@pytest.mark.parametrize("keep", list(Keep))
def test_a_crash_at_any_operation_of_a_sweep_leaves_whole_segments_only(keep: Keep) -> None:
    whole = ["0:a=1 1:b=1 ", "2:c=1 3:d=1 ", "4:e=1 5:f=1 ", "6:g=1"]
    for operation_count in itertools.count():
        store = KeyedStore(seed=operation_count, cleanup_policy=["delete"], segment_records=2)
        store.put("a=1 b=1 c=1 d=1 e=1 f=1 g=1")
        store.configure(retention_segments=1)
        store.disk.cut_power_at(operation_count)
        try:
            store.sweep()
            finished = True
        except PowerCut:
            finished = False
        store.disk.cut_power_at(1 << 60)
        store.topics["t"] = msgspec.structs.replace(store.topics["t"], retention_segments=-1)
        store.crash(keep)
        tails = ["".join(whole[first:]) for first in range(3)]
        assert store.text() in tails, f"operation {operation_count}"
        assert store.log.log_start_offset == store.records()[0].offset, f"operation {operation_count}"
        assert not [n for n in store.files() if n.endswith(".deleted")]
        if finished:
            assert store.text() == tails[2]
            return


def test_a_log_that_fails_in_a_sweep_does_not_stop_the_others() -> None:
    store = KeyedStore(cleanup_policy=["delete"], segment_records=1, retention_segments=0)
    store.add_topic("u")
    store.put("a=1 b=1")
    store.put("a=1 b=1", topic="u")
    store.disk.fail("sync_dir", "/data/t-0")
    assert store.sweep() == 1
    assert store.text(topic="u") == "1:b=1"


def test_a_compacted_topic_with_retention_loses_old_segments_too() -> None:
    store = KeyedStore(cleanup_policy=["compact", "delete"], retention_ms=HOUR_MS)
    store.put("a=1 b=1 c=1")
    store.clock.advance(2 * HOUR_MS)
    store.put("d=1")
    store.sweep()
    assert store.text() == "3:d=1"
    store.put("e=1 d=2 d=3")
    store.compact()
    assert store.text() == "4:e=1 5:d=2 6:d=3"


# -- logs that are not open -----------------------------------------------------------------------------


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
