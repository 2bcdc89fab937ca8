"""Batches are checked and get offsets; a write of several clients' batches gives the same log as single appends."""

import errno
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.rules import rules_for
from penstock.storage.errors import AppendRejected, LogError, StorageError, StorageFailure
from penstock.storage.file_cache import FileCache
from penstock.storage.files import Buffer
from penstock.storage.log.append import Appender, assign_offsets, prepare_own, prepare_produced
from penstock.storage.log.log import Log
from penstock.storage.log.values import Appended
from penstock.storage.recovery.loader import create_log
from penstock.storage.storable_batch import StorableBatch
from penstock_simulation.disk import FaultyDisk, FaultyFile
from tests.storage.logs import (
    NOW_MS,
    PreparedAppend,
    all_values,
    append,
    append_records,
    batch_of,
    config_of,
    new_log,
)

RULES = rules_for(config_of())


def prepared(*sizes: int) -> list[StorableBatch]:
    records = b"".join(batch_of(*(str(number) for number in range(size))) for size in sizes)
    return prepare_own(records, RULES, NOW_MS)


def test_offsets_continue_from_batch_to_batch() -> None:
    batches = prepared(3, 2)
    assign_offsets(batches, 10, leader_epoch=4)
    assert [(batch.base_offset, batch.last_offset) for batch in batches] == [(10, 12), (13, 14)]


def test_bytes_after_the_last_whole_batch_are_refused() -> None:
    with pytest.raises(AppendRejected) as refused:
        prepare_own(batch_of("a") + b"rest", RULES, NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_RECORD


def test_an_empty_append_is_refused() -> None:
    for prepare in (prepare_own, prepare_produced):
        with pytest.raises(AppendRejected):
            prepare(b"", RULES, NOW_MS)


def test_each_invalid_record_is_reported_with_its_error() -> None:
    rules = rules_for(config_of(message_timestamp_after_max_ms=10))
    with pytest.raises(AppendRejected) as refused:
        prepare_produced(batch_of("a", "b", timestamp=NOW_MS + 11), rules, NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1]


Outcome = tuple[int, int, int, bool] | ErrorCode


def disk_log(disk: FaultyDisk, directory: str = "/t-0", **changes: Any) -> Log:
    disk.make_dirs(directory)
    cache, config = FileCache(disk), config_of(**changes)
    return Log("t", 0, directory, config, loaded=create_log(cache, directory, config))


def append_each(log: Log, *batches: bytearray) -> list[Appended | LogError]:
    appender = Appender(log)
    prepared = [PreparedAppend(appender.prepare(batch, NOW_MS)) for batch in batches]
    appender.append_each(prepared, leader_epoch=3, now_ms=NOW_MS)
    return [outcome_of(each) for each in prepared]


def outcome_of(append: PreparedAppend) -> Appended | LogError:
    outcomes = [each for each in (append.appended, append.refusal) if each is not None]
    assert len(outcomes) == 1, "it is stored or refused, never both"
    return outcomes[0]


def summary(outcome: Appended | LogError) -> Outcome:
    if isinstance(outcome, LogError):
        return outcome.code
    return outcome.base_offset, outcome.last_offset, outcome.log_append_time_ms, outcome.duplicate


def append_singly(log: Log, batch: bytearray) -> Outcome:
    try:
        return summary(append_records(log, batch, leader_epoch=3, now_ms=NOW_MS))
    except LogError as error:
        return error.code


def test_each_batch_gets_its_offsets_and_all_are_readable(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    append(log, "a")
    outcomes = append_each(log, batch_of("b", "c"), batch_of("d"))
    assert [summary(each) for each in outcomes] == [(1, 2, -1, False), (3, 3, -1, False)]
    assert all_values(log) == ["a", "b", "c", "d"]
    assert log.epoch_of(1) == 3


def counted_writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The positions of all writes from now on."""
    write, positions = FaultyFile.write, []

    def counted(file: FaultyFile, buffers: Sequence[Buffer], position: int) -> None:
        positions.append(position)
        write(file, buffers, position)

    monkeypatch.setattr(FaultyFile, "write", counted)
    return positions


def test_one_write_stores_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    log = disk_log(FaultyDisk(Random(1)))
    append(log, "a")
    positions = counted_writes(monkeypatch)
    append_each(log, *(batch_of(str(number)) for number in range(30)))
    assert len(positions) == 1
    assert len(all_values(log)) == 31


def test_a_second_batch_of_a_producer_is_checked_against_its_first(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))

    def of_producer(value: str, sequence: int, producer_id: int = 7) -> bytearray:
        return batch_of(value, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)

    outcomes = append_each(
        log,
        of_producer("a", 0),
        of_producer("x", 0, producer_id=8),
        of_producer("b", 1),
        of_producer("a", 0),
        of_producer("d", 3),
        batch_of("z"),
        of_producer("c", 2),
    )
    assert [summary(each) for each in outcomes] == [
        (0, 0, -1, False),
        (1, 1, -1, False),
        (2, 2, -1, False),
        (0, 0, -1, True),
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        (3, 3, -1, False),
        (4, 4, -1, False),
    ]
    assert all_values(log) == ["a", "x", "b", "z", "c"]


def test_a_full_disk_refuses_all_batches_and_keeps_none() -> None:
    disk = FaultyDisk(Random(2))
    log = disk_log(disk)
    append(log, "a")
    disk.fail("write", error=errno.ENOSPC, times=1)
    outcomes = append_each(log, batch_of("b"), batch_of("c"))
    assert [type(each) for each in outcomes] == [StorageError, StorageError]
    assert all_values(log) == ["a"]
    assert [summary(each) for each in append_each(log, batch_of("d"))] == [(1, 1, -1, False)]


def test_a_failed_log_refuses_each_batch(tmp_path: Path) -> None:
    log = new_log(str(tmp_path))
    appender = Appender(log)
    prepared = [PreparedAppend(appender.prepare(batch_of(value), NOW_MS)) for value in "ab"]
    log.fail(StorageFailure("the disk is gone"))
    appender.append_each(prepared, leader_epoch=0, now_ms=NOW_MS)
    assert [summary(outcome_of(each)) for each in prepared] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


@pytest.mark.parametrize(
    "changes", [{"segment_bytes": 1000}, {}], ids=["no room for all", "the same producer"]
)
def test_after_a_write_that_cannot_be_undone_no_batch_is_written(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FaultyDisk(Random(1))
    log = disk_log(disk, **changes)
    append(log, "a" * 400)
    positions = counted_writes(monkeypatch)
    disk.fail("write", error=errno.EIO, times=1)
    disk.fail("truncate", error=errno.EIO, times=1)
    outcomes = append_each(
        log,
        batch_of("b", producer_id=7, producer_epoch=0, base_sequence=0),
        batch_of("c", producer_id=7, producer_epoch=0, base_sequence=1),
        batch_of("d" * 500),
    )
    assert outcomes == [log.failure] * 3
    assert len(positions) == 1


def test_an_invalid_batch_is_refused_when_it_is_prepared(tmp_path: Path) -> None:
    broken = batch_of("a")
    broken[-1] ^= 1
    with pytest.raises(AppendRejected, match="CRC"):
        Appender(new_log(str(tmp_path))).prepare(broken, NOW_MS)


_BATCHES = st.lists(
    st.tuples(
        st.sampled_from([-1, -1, 5, 6]),  # producer id
        st.integers(0, 3),  # sequence
        st.integers(1, 3),  # records
        st.sampled_from([0, 400]),  # bytes of each
        st.sampled_from([0, -5_000, 5_000]),  # its time
    ),
    max_size=12,
)


_SETTINGS: list[dict[str, Any]] = [
    {},
    {"segment_bytes": 2000, "index_interval_bytes": 0},
    {"segment_ms": 3000},
    {"segment_records": 4},
    {"segment_index_bytes": 60, "index_interval_bytes": 300},
    {"message_timestamp_type": "LogAppendTime"},
]


@pytest.mark.parametrize("changes", _SETTINGS, ids=lambda changes: next(iter(changes), "defaults"))
def test_grouped_appends_leave_the_same_files_as_single_ones(changes: dict[str, Any]) -> None:
    @settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(_BATCHES, max_size=4))
    def check(groups: list[list[tuple[int, int, int, int, int]]]) -> None:
        disk = FaultyDisk(Random(3))
        grouped, single = disk_log(disk, "/grouped", **changes), disk_log(disk, "/single", **changes)
        for group in groups:
            batches = [
                batch_of(
                    *("x" * size_bytes + str(n) for n in range(count)),
                    timestamp=NOW_MS + time_ms,
                    producer_id=producer_id,
                    producer_epoch=0 if producer_id >= 0 else -1,
                    base_sequence=sequence if producer_id >= 0 else -1,
                )
                for producer_id, sequence, count, size_bytes, time_ms in group
            ]
            expected = [append_singly(single, bytearray(batch)) for batch in batches]
            assert [summary(each) for each in append_each(grouped, *batches)] == expected
        for log in (grouped, single):
            log.roll(now_ms=NOW_MS)
        assert contents(disk, "/grouped") == contents(disk, "/single")

    check()


def contents(disk: FaultyDisk, directory: str) -> dict[str, bytes]:
    found = {}
    for name in disk.list(directory):
        file = disk.open(f"{directory}/{name}", writable=False)
        found[name] = file.read(file.size(), 0)
        file.close()
    return found
