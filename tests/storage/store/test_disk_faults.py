"""A store with power cuts at every operation but appends."""

import itertools
from collections.abc import Callable

import pytest

from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.storage.directory.checkpoints import LOG_STARTS, RECOVERY_POINTS
from penstock_simulation.disk import Keep, PowerCut
from tests.storage.keyed_store import TOPIC_ID, KeyedStore
from tests.storage.logs import batch_of, read, values_in

WORDS = "a=0 b=1 c=2 d=3 e=4 f=5 g=6 h=7"
OLD = [f"{offset}:{word}" for offset, word in enumerate(WORDS.split())]


def new_store(seed: int) -> KeyedStore:
    store = KeyedStore(seed, cleanup_policy=["delete"])
    store.put(WORDS)
    return store


def crash_everywhere(
    keep: Keep | None, act: Callable[[KeyedStore], None], check: Callable[[KeyedStore, bool, str], None]
) -> None:
    """Cut the power before each operation of `act` in turn; `check` gets whether `act` had ended."""
    for operation_count in itertools.count():
        store = new_store(operation_count)
        store.disk.cut_power_at(operation_count)
        try:
            act(store)
            has_ended = True
        except PowerCut:
            has_ended = False
        store.disk.cut_power_at(1 << 60)
        store.disk = store.disk.kill() if keep is None else store.disk.crash(keep)
        store.open()
        context = f"operation {operation_count}"
        assert not store.log.damage, context
        check(store, has_ended, context)
        if has_ended:
            assert operation_count > 3
            return


EVERY_END = pytest.mark.parametrize("keep", [*Keep, None])


@EVERY_END
def test_a_crash_during_a_checkpoint_loses_nothing(keep: Keep | None) -> None:
    def act(store: KeyedStore) -> None:
        store.run(store.store.checkpoint())
        store.put("i=8 j=9")
        store.run(store.store.checkpoint())

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        found = store.text().split()
        assert found[:8] == OLD, context
        assert found[8:] in ([], ["8:i=8"], ["8:i=8", "9:j=9"]), context
        assert not has_ended or len(found) == 10
        store.put("k=1")
        store.crash()
        assert store.text().split() == [*found, f"{len(found)}:k=1"], context

    crash_everywhere(keep, act, check)


@EVERY_END
@pytest.mark.parametrize("offset", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_truncated_records_do_not_reappear_after_new_ones_when_a_truncation_crashes(
    keep: Keep | None, offset: int, is_checkpointed: bool
) -> None:
    def act(store: KeyedStore) -> None:
        if is_checkpointed:
            store.run(store.store.checkpoint())
        store.run(store.store.allow_truncation(store.log, offset))
        store.log.truncate_to(offset, now_ms=store.clock.now_ms())
        store.put("new=1")
        store.sync()

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        found = store.text().split()
        kept = OLD[:offset]
        truncated = [*kept, f"{offset}:new=1"]
        if has_ended:
            assert found == truncated, context
        elif found != truncated:
            assert len(found) >= offset, context
            assert found == OLD[: len(found)], context

    crash_everywhere(keep, act, check)


@EVERY_END
@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_a_crash_while_an_empty_log_moves_back_to_the_start_of_a_batch_leaves_a_log_that_opens(
    keep: Keep | None, is_checkpointed: bool
) -> None:
    """Without a lower recovery point on the disk, the rest of a torn batch would be taken for damage."""
    batch = batch_of("k", "l", "m")
    set_base_offset_and_epoch(batch, 0, 10, 0)

    def act(store: KeyedStore) -> None:
        store.log.truncate_fully_and_start_at(12)
        if is_checkpointed:
            store.run(store.store.checkpoint())
        store.run(store.store.allow_truncation(store.log, 10))
        store.log.truncate_fully_and_start_at(10)
        store.log.append_replicated(bytes(batch), now_ms=store.clock.now_ms())
        store.sync()

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        assert not has_ended or store.log.log_end_offset == 13, context
        if store.log.log_end_offset == 13:
            assert values_in(read(store.log, 12)) == ["k", "l", "m"], context

    crash_everywhere(keep, act, check)


@pytest.mark.parametrize("keep", Keep)
@pytest.mark.parametrize("offset", [1, 3, 4, 6, 8])
def test_deleted_records_do_not_reappear_once_the_log_start_is_saved(keep: Keep, offset: int) -> None:
    """At the start of a segment, too: the file of the one below is deleted, but not yet durably."""
    store = new_store(1)
    store.log.advance_log_start(offset)
    assert store.run(store.store.save_offsets())
    store.crash(keep)
    assert store.log.log_start_offset == offset
    assert store.text(offset).split() == OLD[offset:]


@EVERY_END
@pytest.mark.parametrize("offset", [1, 3, 4, 6, 8])
def test_a_crash_during_a_deletion_of_records_leaves_the_log_complete_from_its_start(
    keep: Keep | None, offset: int
) -> None:
    def act(store: KeyedStore) -> None:
        store.log.advance_log_start(offset)
        store.run(store.store.checkpoint())

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        start = store.log.log_start_offset
        assert start <= offset, context
        if has_ended:
            assert start == offset, context
        found = [word for word in store.text().split() if int(word.split(":")[0]) >= start]
        assert found == OLD[start:], context
        store.put("i=8")
        store.crash()
        assert store.text().split()[-1] == "8:i=8", context

    crash_everywhere(keep, act, check)


@EVERY_END
def test_a_crash_during_a_clean_stop_loses_nothing_and_the_stop_does_not_count_as_clean(
    keep: Keep | None,
) -> None:
    def act(store: KeyedStore) -> None:
        store.put_as(7, 0, "p=0")
        store.run(store.store.close())

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        found = store.text().split()
        assert found in (OLD, [*OLD, "8:p=0"]), context
        if has_ended:
            assert store.store.was_clean
            assert found == [*OLD, "8:p=0"]
        known = found != OLD
        assert store.put_as(7, 0, "p=0").duplicate == known, context
        store.crash()
        assert store.text().split() == [*OLD, "8:p=0"], context

    crash_everywhere(keep, act, check)


@EVERY_END
def test_a_crash_during_the_deletion_of_a_topic_leaves_all_of_it_or_nothing(keep: Keep | None) -> None:
    def act(store: KeyedStore) -> None:
        store.store.delete("t", TOPIC_ID, 0)
        store.run(store.store.checkpoint())

    def check(store: KeyedStore, has_ended: bool, context: str) -> None:
        assert store.text().split() in (OLD, []), context

    crash_everywhere(keep, act, check)


@pytest.mark.parametrize("name", [RECOVERY_POINTS, LOG_STARTS])
@pytest.mark.parametrize("content", [b"", b"rubbish", b"0\n1\n", b"0\n2\nt 0 5\n", b"1\n0\n", b"\xff\xfe"])
def test_a_damaged_checkpoint_file_loses_no_record(name: str, content: bytes) -> None:
    store = new_store(1)
    store.run(store.store.checkpoint())
    store.disk = store.disk.crash()
    file = store.disk.open(f"/data/{name}", create=True)
    file.truncate(0)
    file.write([content], 0)
    file.close()
    store.open()
    assert store.text().split() == OLD


@pytest.mark.parametrize("content", [None, b"rubbish", b"0\n0\n"])
def test_gaps_of_a_compaction_are_not_missing_records_when_the_recovery_point_is_lost(
    content: bytes | None,
) -> None:
    store = KeyedStore(1, segment_bytes=250)
    store.put("a=0 b=1 x=2 c=3 y=4 x=5 d=6 e=7 y=8 f=9 g=10 x=11 h=12 i=13 j=14 k=15")
    while store.compact():
        pass
    compacted = store.text()
    assert compacted.startswith("0:a=0 1:b=1 3:c=3 6:d=6"), "offsets 2, 4 and 5 ended their segments"
    store.disk = store.disk.crash()
    if content is None:
        store.disk.remove(f"/data/{RECOVERY_POINTS}")
    else:
        file = store.disk.open(f"/data/{RECOVERY_POINTS}")
        file.truncate(0)
        file.write([content], 0)
        file.close()
    store.open()
    assert store.text() == compacted
    store.crash()
    assert store.text() == compacted


@pytest.mark.parametrize("power_is_cut", [False, True])
def test_gaps_are_not_missing_records_after_a_second_crash_either(power_is_cut: bool) -> None:
    """The recovery point was not saved between the two."""
    store = KeyedStore(1, segment_bytes=250)
    store.put("a=0 b=1 x=2 c=3 y=4 x=5 d=6 e=7 y=8 f=9 g=10 x=11 h=12 i=13 j=14 k=15")
    while store.compact():
        pass
    compacted = store.text()
    store.disk = store.disk.kill()
    store.disk.remove(f"/data/{RECOVERY_POINTS}")
    store.disk.sync_dir("/data")
    for _ in range(3):
        store.open()
        assert store.text() == compacted
        store.disk = store.disk.crash() if power_is_cut else store.disk.kill()


def test_a_gap_above_the_durable_offset_is_missing_records() -> None:
    store = new_store(1)
    store.run(store.store.checkpoint())
    store.put("i=8 j=9 k=10 l=11 m=12 n=13")
    store.disk = store.disk.kill()
    store.disk.remove("/data/t-0/00000000000000000009.log")
    store.disk.remove(f"/data/{RECOVERY_POINTS}")
    store.open()
    assert store.text().split() == [*OLD, "8:i=8"]


def test_a_failing_log_does_not_affect_the_others_of_the_store() -> None:
    store = new_store(1)
    store.add_topic("u")
    store.put("a=1", topic="u")
    store.append_only("b=2", topic="u")
    store.disk.fail("sync", "/data/u-0/")
    with pytest.raises(OSError):
        store.sync("u")
    assert store.logs["u"].failure is not None
    store.put("i=8")
    store.run(store.store.checkpoint())
    store.disk.heal()
    store.run(store.store.close())
    store.crash()
    assert not store.store.was_clean
    assert store.text().split() == [*OLD, "8:i=8"]
    assert store.text(topic="u") == "0:a=1"
