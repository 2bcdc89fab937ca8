"""Which changes of a log's files the next start reports as missing records, and which it does not.

See also tests/server/test_missing_files.py.
"""

import logging
from collections.abc import Callable

import pytest

from penstock.storage.directory.checkpoints import PartitionName
from penstock.storage.directory.metadata_files import CLEAN_SHUTDOWN
from penstock.storage.files import read_whole, write_atomically
from penstock.storage.recovery.inventory import INVENTORY
from tests.storage.keyed_store import HOUR_MS, TOPIC_ID, KeyedStore

Act = Callable[[KeyedStore], None]

OLDEST_EMPTIED = "a=1 b=1 c=1 d=1 d=2 d=3 d=4 d=5 d=6 e=1 a=2 b=2 c=2 f=1"
"""All records of the segments at 0 and 3 have newer ones."""


def path(base_offset: int, suffix: str = ".log") -> str:
    return f"/data/t-0/{base_offset:020d}{suffix}"


def sizes(store: KeyedStore) -> dict[int, int]:
    return {segment.base_offset: segment.size_bytes for segment in store.log.segments}


def compact(store: KeyedStore) -> None:
    # Small segments are not merged, so that some are left empty.
    store.configure(segment_bytes=sizes(store)[0] + 14)
    before = len(store.log.segments)
    assert store.compact()
    assert len(store.log.segments) == before
    assert 0 in list(sizes(store).values())[1:-1]


def compact_to_fewer(store: KeyedStore) -> None:
    before = len(store.log.segments)
    assert store.compact()
    assert len(store.log.segments) < before


def compact_twice(store: KeyedStore) -> None:
    compact(store)
    store.restart()
    store.put("a=3 b=3 c=3 d=7")
    compact_to_fewer(store)


def compact_unfinished(store: KeyedStore) -> None:
    """The names of the compacted segment can be neither synced nor removed: the next start completes the swap."""
    store.run(store.store.secure(store.log))
    store.disk.fail("sync_dir", "/data/t-0", times=1)
    fault = store.disk.fail("remove", ".swap")
    store.compact()
    store.disk.heal(fault)
    assert any(name.endswith(".log.swap") for name in store.files())
    assert store.log.failure is None


def compact_unremoved(store: KeyedStore) -> None:
    fault = store.disk.fail("remove", ".deleted")
    compact_to_fewer(store)
    store.disk.heal(fault)
    assert any(name.endswith(".log.deleted") for name in store.files())


def retain(store: KeyedStore) -> None:
    store.configure(cleanup_policy=["delete"], retention_segments=1)
    assert store.sweep() > 0


def expire_all(store: KeyedStore) -> None:
    store.configure(cleanup_policy=["delete"], retention_ms=HOUR_MS)
    store.clock.advance(2 * HOUR_MS)
    assert store.sweep() > 0


def retain_unrenamed(store: KeyedStore) -> None:
    fault = store.disk.fail("rename", path(0))
    retain(store)
    store.disk.heal(fault)
    assert f"{0:020d}.log" in store.files()


def delete_some(store: KeyedStore) -> None:
    store.log.advance_log_start(4)


def delete_all(store: KeyedStore) -> None:
    store.log.advance_log_start(store.log.log_end_offset)


def roll(store: KeyedStore) -> None:
    store.log.roll(now_ms=store.clock.now_ms())


def truncate(store: KeyedStore) -> None:
    store.log.truncate_to(7, now_ms=store.clock.now_ms())


def begin_elsewhere(store: KeyedStore) -> None:
    """As a follower whose leader has no older records."""
    store.log.truncate_fully_and_start_at(40)
    store.put("y=1")


def fail_to_list(store: KeyedStore) -> None:
    """The inventory of an older stop is still there when the log has other segments."""
    store.restart()
    store.store.broker_epoch -= 1  # a broker that could not register keeps the epoch it had
    compact_to_fewer(store)
    store.disk.fail("rename", INVENTORY, times=1)


def fail_to_write_clean_shutdown_file(store: KeyedStore) -> None:
    store.disk.fail("rename", CLEAN_SHUTDOWN, times=1)


NO_LOSSES: list[Act] = [
    compact,
    compact_to_fewer,
    compact_twice,
    compact_unfinished,
    compact_unremoved,
    retain,
    expire_all,
    retain_unrenamed,
    delete_some,
    delete_all,
    roll,
    truncate,
    begin_elsewhere,
    fail_to_list,
    fail_to_write_clean_shutdown_file,
]


def check_nothing_is_missing(store: KeyedStore, caplog: pytest.LogCaptureFixture) -> None:
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []
    assert (store.log.losses, list(store.log.damaged)) == ((), [])
    assert not store.store.has_lost_records


@pytest.mark.parametrize("act", NO_LOSSES, ids=lambda act: act.__name__)
def test_segments_that_a_log_removed_itself_are_not_missing(
    act: Act, caplog: pytest.LogCaptureFixture
) -> None:
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    act(store)
    caplog.clear()
    table, end_offset = store.newest(), store.log.log_end_offset
    for _ in range(3):
        store.restart()
        check_nothing_is_missing(store, caplog)
        assert (store.newest(), store.log.log_end_offset) == (table, end_offset)
    store.put("z=1")
    store.crash()
    assert store.newest() == {**table, "z": "1"}


@pytest.mark.parametrize("act", [compact, compact_to_fewer, compact_unfinished, retain, delete_some])
def test_a_segment_lost_after_that_is_missing(act: Act) -> None:
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    act(store)
    store.run(store.store.close())
    store.disk.remove(path(12))
    store.open()
    assert [(each.damage.base_offset, each.damage.next_offset) for each in store.log.losses] == [(12, 14)]
    assert store.store.has_lost_records
    assert store.log.log_end_offset == 14


def test_the_lost_file_of_deleted_records_is_not_missing(caplog: pytest.LogCaptureFixture) -> None:
    store = KeyedStore(cleanup_policy=["delete"])
    store.put(OLDEST_EMPTIED)
    store.log.advance_log_start(14)
    store.run(store.store.close())
    store.disk.remove(path(12))
    store.open()
    check_nothing_is_missing(store, caplog)
    store.put("z=1")
    store.crash()
    assert store.text() == "14:z=1"


def missing(store: KeyedStore) -> list[tuple[int, int]]:
    return [(each.base_offset, each.next_offset) for each in store.log.damaged]


@pytest.mark.parametrize("base_offset", [3, 12])
def test_a_file_restored_from_a_backup_is_read_at_once(base_offset: int) -> None:
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    text = store.text()
    store.run(store.store.close())
    backup = read_whole(store.disk, path(base_offset))
    store.disk.remove(path(base_offset))
    store.open()
    lost = (base_offset, min(base_offset + 3, 14))
    assert missing(store) == [lost]
    store.restart()
    assert missing(store) == [lost], "it is remembered"
    store.run(store.store.close())
    write_atomically(store.disk, path(base_offset), backup[: len(backup) // 2])
    store.open()
    assert missing(store) == [(base_offset + 1, lost[1])], "a part of it was restored"
    store.run(store.store.close())
    write_atomically(store.disk, path(base_offset), backup)
    store.open()
    assert (store.log.losses, missing(store)) == ((), [])
    assert store.text() == text


@pytest.mark.parametrize(("lost", "rest"), [("c=1", []), ("c=1 d=1", [(2, 4)])])
def test_a_missing_end_of_a_log_is_read_at_once_when_it_is_fully_restored_after_a_crash(
    lost: str, rest: list[tuple[int, int]]
) -> None:
    store = KeyedStore()
    store.put("a=1 b=1")
    size_bytes = store.log.size_bytes
    store.put(lost)
    store.run(store.store.secure(store.log))
    backup = read_whole(store.disk, path(0))[: store.log.segments[0].size_bytes]
    store.disk = store.disk.kill()
    if rest:
        store.disk.remove(path(3))
    write_atomically(store.disk, path(0), backup[:size_bytes])
    store.open()
    assert missing(store) == [(2, 2 + len(lost.split()))]
    store.run(store.store.close())
    write_atomically(store.disk, path(0), backup)
    store.open()
    assert missing(store) == rest


def test_an_inventory_does_not_count_with_a_clean_shutdown_file_without_an_epoch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Kafka before version 3.9 leaves an empty file, and its own changes are not in the inventory."""
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    store.store.broker_epoch = -1
    store.run(store.store.close())
    listed = read_whole(store.disk, f"/data/{INVENTORY}")
    store.open()
    compact_to_fewer(store)
    table = store.newest()
    store.run(store.store.close())
    write_atomically(store.disk, f"/data/{INVENTORY}", listed)
    write_atomically(store.disk, f"/data/{CLEAN_SHUTDOWN}", b"")
    store.open()
    check_nothing_is_missing(store, caplog)
    assert store.newest() == table


def test_a_log_deleted_while_unopened_and_recreated_is_a_new_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    config = store.topics.pop("t")
    store.restart()

    async def delete() -> None:
        store.store.delete("t", TOPIC_ID, 0)

    store.run(delete())
    store.topics["t"] = config
    store.logs["t"] = store.store.open_or_create("t", TOPIC_ID, 0, config)
    check_nothing_is_missing(store, caplog)
    assert store.log.log_end_offset == 0


def start_anew(store: KeyedStore) -> set[PartitionName]:
    """Crash, then start as a broker does: the changed logs are opened; `t` is not opened before."""
    store.disk = store.disk.crash()
    config = store.topics.pop("t")
    store.open()
    changed = store.run(store.store.find_changed())
    store.topics["t"] = config
    store.logs = {"t": store.store.open_or_create("t", TOPIC_ID, 0, config)}
    return changed


@pytest.mark.parametrize("is_opened", [False, True])
@pytest.mark.parametrize("policy", ["compact", "delete"])
@pytest.mark.parametrize("base_offset", [3, 12])
def test_a_crash_before_missing_records_are_registered_keeps_the_evidence_of_them(
    base_offset: int, policy: str, is_opened: bool
) -> None:
    store = KeyedStore(cleanup_policy=[policy])
    store.put(OLDEST_EMPTIED)
    store.run(store.store.close())
    store.disk.remove(path(base_offset))
    store.disk.sync_dir("/data/t-0")
    config = store.topics.pop("t")
    store.open()
    store.topics["t"] = config
    if is_opened:
        store.logs["t"] = store.store.open_or_create("t", TOPIC_ID, 0, config)
    for _ in range(3):
        assert start_anew(store) == {PartitionName("t", 0)}
        assert store.store.has_lost_records
        assert missing(store) == [(base_offset, min(base_offset + 3, 14))]
        assert store.log.log_end_offset == 14
    store.run(store.store.recovered())
    assert start_anew(store) == set(), "it is registered"


def test_a_log_truncated_before_missing_records_are_registered_lacks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The metadata log is opened, truncated and written before the partitions are compared."""
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    store.restart()
    store.run(store.store.allow_truncation(store.log, 7))
    truncate(store)
    store.put("z=1")
    store.crash()
    assert store.run(store.store.find_changed()) == set()
    check_nothing_is_missing(store, caplog)
    assert store.log.log_end_offset == 8


def test_segments_compacted_after_missing_records_are_registered_are_not_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = KeyedStore()
    store.put(OLDEST_EMPTIED)
    store.restart()
    store.run(store.store.recovered())
    compact_to_fewer(store)
    assert start_anew(store) == set()
    check_nothing_is_missing(store, caplog)
