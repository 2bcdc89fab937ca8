"""Retention deletes segments by time, size and number."""

import itertools

import msgspec
import pytest

from penstock_simulation.disk import Keep, PowerCut
from tests.storage.keyed_store import HOUR_MS, KeyedStore


def test_expired_segments_are_deleted_and_the_log_start_survives_a_power_cut() -> None:
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


def test_a_log_whose_records_have_all_expired_continues_at_the_next_offset() -> None:
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


def test_no_more_closed_segments_are_kept_than_the_topic_allows() -> None:
    store = KeyedStore(cleanup_policy=["delete"], segment_records=1, retention_segments=2)
    store.put("a=1 b=1 c=1 d=1 e=1")
    assert store.sweep() == 2
    assert store.text() == "2:c=1 3:d=1 4:e=1"


@pytest.mark.parametrize("keep", list(Keep))
def test_a_crash_at_any_operation_of_retention_leaves_only_whole_segments(keep: Keep) -> None:
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


def test_a_log_that_fails_during_retention_does_not_stop_the_others() -> None:
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
