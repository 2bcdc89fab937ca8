"""The cleaner keeps the newest record of each key; its schedule, and crashes at any operation."""

import asyncio
import errno
import itertools

import pytest

from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.runtime.offload import InlineOffload
from penstock.storage.cleaner.cleaner import Cleaner, CleanerSettings
from penstock.storage.cleaner.passes import CleanerPasses
from penstock.storage.compaction.worker import OffloadedCompactor
from penstock.storage.directory.checkpoints import PartitionName, read_offsets
from penstock.storage.errors import LogCorrupt
from penstock.storage.log.log import Log
from penstock.storage.log.values import Origin
from penstock_simulation.disk import Keep, PowerCut
from tests.storage.keyed_store import HOUR_MS, NOW_MS, TOPIC_ID, KeyedStore, Partition


def test_sealed_segments_keep_the_newest_of_every_key_and_the_active_one_is_not_touched() -> None:
    store = KeyedStore()
    store.put("a=1 b=1 a=2 c=1 b=2 a=3 a=4")
    assert store.compact()
    assert store.text() == "3:c=1 4:b=2 5:a=3 6:a=4"
    assert store.log.log_end_offset == 7
    assert store.cleaner.clean_offset("t", 0) == 6


def test_a_changed_cleaner_setting_applies_from_the_next_pass() -> None:
    store = KeyedStore()
    store.put("a=1 b=1 a=2 b=2 a=3 b=3 a=4")
    store.settings = CleanerSettings(dedupe_buffer_bytes=1)  # a pass takes at least one batch
    store.compact()
    assert store.cleaner.clean_offset("t", 0) == 1
    store.settings = CleanerSettings()
    store.compact()
    assert store.cleaner.clean_offset("t", 0) == 6


def test_a_consumer_reads_across_the_gaps_from_any_offset() -> None:
    store = KeyedStore(segment_bytes=300)
    store.put("a=1 b=1 a=2 c=1 b=2 a=3 a=4")
    store.compact()
    everything = store.text().split()
    for offset in range(8):
        expected = [word for word in everything if int(word.split(":")[0]) >= offset]
        assert store.text(offset).split() == expected, f"from {offset}"


def test_appends_continue_with_the_next_offset_after_a_compaction() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 a=4")
    store.compact()
    store.put("b=1")
    assert store.text() == "2:a=3 3:a=4 4:b=1"


def test_offsets_are_found_by_timestamp_after_a_compaction() -> None:
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


def test_a_second_pass_cleans_only_new_records() -> None:
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


def test_aborted_records_are_removed_and_committed_ones_kept() -> None:
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


def test_the_last_sequence_of_a_producer_survives_the_loss_of_all_snapshots() -> None:
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


def test_the_cleaner_resumes_from_its_checkpoint_after_a_restart() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")
    store.compact()
    assert read_offsets(store.disk, "/data/cleaner-offset-checkpoint") == {PartitionName("t", 0): 3}
    store.restart()
    assert not store.compact()
    store.put("b=2 b=3 c=1")
    assert store.compact()
    assert store.text() == "2:a=3 5:b=3 6:c=1"


def test_the_cleaner_checkpoint_of_an_unopened_log_is_kept() -> None:
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


def test_a_recreated_topic_is_compacted_from_its_start() -> None:
    store = KeyedStore()
    store.add_topic("u")
    store.put("a=1 a=2 a=3 b=1", topic="u")
    assert store.compact()
    store.store.delete("u", TOPIC_ID, 0)
    del store.logs["u"]
    assert not store.compact()
    store.add_topic("u")
    store.put("a=1 a=2 a=3 a=4 a=5 a=6 b=1", topic="u")
    assert store.compact()
    assert store.text(topic="u") == "5:a=6 6:b=1"


def test_the_log_with_the_highest_dirty_ratio_is_compacted_first() -> None:
    store = KeyedStore()
    store.add_topic("u")
    store.put("a=1 b=1 c=1 d=1")
    store.compact()
    store.put("a=2 b=2 c=2")
    store.put("a=1 a=2 a=3 b=1", topic="u")
    store.compact()
    assert store.text(topic="u") == "2:a=3 3:b=1"
    assert store.text().startswith("0:a=1")


def test_readers_keep_their_open_segments_while_these_are_replaced() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")
    cache = store.log.cache
    pinned = cache.pin(store.log.segments[0].log_path)
    store.compact()
    assert [h.base_offset for _, h in iter_batches_strict(pinned.file.read(1 << 20, 0))] == [0, 1, 2]
    cache.unpin(pinned)
    assert store.text() == "2:a=3 3:b=1"


# -- crashes --------------------------------------------------------------------------------------------

HISTORY = "a=1 b=1 a=2 c=1 b=2 d=1 a=3 c e=1 b=3 a=4 f=1 d=2 e=2"


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.PREFIX, Keep.PAGES, Keep.EVERYTHING])
@pytest.mark.parametrize("segment_bytes", [300, 1 << 20])
def test_a_crash_at_any_operation_of_a_pass_neither_loses_nor_duplicates_records(
    segment_bytes: int, keep: Keep
) -> None:
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

        store.before_swap = hang
        running = asyncio.create_task(store.cleaner.run())
        await started.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert ended.is_set()

    store.run(scenario())
    store.crash()
    assert store.text() == "0:a=1 1:a=2 2:a=3 3:b=1"


def test_no_more_logs_are_compacted_concurrently_than_the_setting_allows_and_none_twice() -> None:
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
        store.before_swap = wait
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


def test_the_cleaner_runs_retention_and_compaction_at_their_intervals() -> None:
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
    """A partition whose log is unopened; opening it may fail."""

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
def test_a_log_that_cannot_be_opened_does_not_stop_the_cleaning_of_others(error: Exception) -> None:
    store = KeyedStore(cleanup_policy=["compact", "delete"], retention_ms=HOUR_MS)
    cleaner = with_another(store, Unopened(error))
    store.put("a=1 a=2 a=3 b=1")
    assert store.run(cleaner.compact_dirtiest())
    assert store.text() == "2:a=3 3:b=1"
    store.clock.advance(2 * HOUR_MS)
    assert store.run(cleaner.sweep()) == 2


def test_choosing_what_to_compact_opens_no_log() -> None:
    store = KeyedStore()
    assert not store.run(with_another(store, Unopened()).compact_dirtiest())
