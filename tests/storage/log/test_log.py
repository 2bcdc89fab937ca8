"""A log is appended to, rolls, replicates, syncs, truncates, idles and closes."""

import os
from pathlib import Path

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import HEADER_SIZE, parse_header, set_base_offset_and_epoch
from penstock.storage.errors import AppendRejected, OffsetOutOfRange, StorageFailure
from penstock.storage.log.log import Log
from tests.storage.logs import (
    NOW_MS,
    all_values,
    append,
    append_all,
    append_records,
    bases,
    batch_of,
    close,
    new_log,
    read,
    reopened,
    sync,
    values_in,
)

# -- appending ----------------------------------------------------------------------------------------------


def test_records_get_consecutive_offsets(log: Log) -> None:
    first = append(log, "a", "b")
    second = append(log, "c")
    assert (first.base_offset, first.last_offset) == (0, 1)
    assert (second.base_offset, second.last_offset) == (2, 2)
    assert log.log_end_offset == 3


def test_offset_and_epoch_are_written_into_the_given_buffer(log: Log) -> None:
    append(log, "a")
    batch = batch_of("b")
    append_records(log, memoryview(batch), leader_epoch=7, now_ms=NOW_MS)
    header = parse_header(batch)
    assert (header.base_offset, header.leader_epoch) == (1, 7)


def test_a_read_only_buffer_is_left_alone(log: Log) -> None:
    append(log, "a")
    batch = bytes(batch_of("b"))
    append_records(log, batch, leader_epoch=7, now_ms=NOW_MS)
    assert parse_header(batch).base_offset == 0
    assert all_values(log) == ["a", "b"]


def test_several_batches_of_the_broker_are_stored_together(log: Log) -> None:
    appended = append_all(log, batch_of("a"), batch_of("b", "c"))
    assert (appended.base_offset, appended.last_offset) == (0, 2)
    assert all_values(log) == ["a", "b", "c"]


def test_one_bad_batch_of_several_refuses_them_all(log: Log) -> None:
    bad = batch_of("b")
    bad[-1] ^= 1
    with pytest.raises(AppendRejected) as refused:
        append_all(log, batch_of("a"), bad)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
    assert log.log_end_offset == 0
    assert log.size_bytes == 0


def test_a_client_may_send_only_one_batch(log: Log) -> None:
    with pytest.raises(AppendRejected) as refused:
        append_records(log, batch_of("a") + batch_of("b"), leader_epoch=0, now_ms=NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_RECORD


def test_a_retried_batch_is_stored_once_and_gets_the_first_answer(log: Log) -> None:
    fields = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    first = append(log, "a", "b", **fields)
    again = append(log, "a", "b", **fields)
    assert again.duplicate
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset)
    assert log.log_end_offset == 2


def test_an_out_of_order_sequence_is_refused_and_changes_nothing(log: Log) -> None:
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0)
    with pytest.raises(AppendRejected) as refused:
        append(log, "c", producer_id=5, producer_epoch=0, base_sequence=2)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    append(log, "b", producer_id=5, producer_epoch=0, base_sequence=1)
    assert all_values(log) == ["a", "b"]


def test_a_topic_with_log_append_time_answers_with_the_timestamp(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), message_timestamp_type="LogAppendTime")
    assert append(log, "a", timestamp=5).log_append_time_ms == NOW_MS


# -- replicating ------------------------------------------------------------------------------------------------


def test_replicated_batches_keep_their_offsets_and_epochs(log: Log) -> None:
    records = batch_of("a", "b", leader_epoch=3) + batch_of("c", base_offset=5, leader_epoch=4)
    appended = log.append_replicated(records, now_ms=NOW_MS)
    assert appended is not None
    assert (appended.base_offset, appended.last_offset) == (0, 5)
    assert log.log_end_offset == 6
    assert log.epoch_of(1) == 3
    assert log.epoch_end_offset(3) == (3, 5)


def test_more_batches_than_the_kernel_takes_in_one_write_are_stored(log: Log) -> None:
    count = 3000  # it takes 1024; a fetch of a megabyte brings ten thousand small ones
    records = b"".join(batch_of("a", base_offset=offset) for offset in range(count))
    log.append_replicated(records, now_ms=NOW_MS)
    assert log.log_end_offset == count
    assert len(all_values(log)) == count


def test_a_partial_batch_at_the_end_of_a_fetch_is_left_out(log: Log) -> None:
    log.append_replicated(batch_of("a") + batch_of("b", base_offset=1)[:-5], now_ms=NOW_MS)
    assert all_values(log) == ["a"]
    assert log.append_replicated(batch_of("b", base_offset=1)[:-5], now_ms=NOW_MS) is None


def test_replicated_batches_that_go_back_are_refused(log: Log) -> None:
    append(log, "a", "b")
    with pytest.raises(AppendRejected):
        log.append_replicated(batch_of("c", base_offset=1), now_ms=NOW_MS)
    assert log.log_end_offset == 2


def test_a_replicated_batch_with_a_bad_checksum_is_refused(log: Log) -> None:
    bad = batch_of("a")
    bad[-1] ^= 1
    with pytest.raises(AppendRejected) as refused:
        log.append_replicated(bad, now_ms=NOW_MS)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


# -- durability ---------------------------------------------------------------------------------------------


def test_records_are_durable_after_a_sync_and_not_before(log: Log) -> None:
    notified: list[int] = []
    log.on_durable = lambda: notified.append(log.durable_offset)
    append(log, "a")
    assert (log.durable_offset, log.committed_offset) == (0, 0)
    job = log.begin_sync()
    append(log, "b")
    job.run()
    assert log.finish_sync(job)
    log.notify_durable()
    assert (log.durable_offset, notified) == (1, [1])


def test_a_log_deleted_during_a_sync_is_not_reported_as_failed(log: Log) -> None:
    notified: list[StorageFailure | None] = []
    log.on_durable = lambda: notified.append(log.failure)
    append(log, "a")
    job = log.begin_sync()
    job.run()
    assert log.finish_sync(job)
    log.abandon("its topic was deleted")
    log.notify_durable()
    assert notified == []


def test_a_topic_without_syncs_commits_at_once(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), flush_messages=1_000)
    append(log, "a")
    assert log.committed_offset == 1
    assert log.durable_offset == 0


def test_a_second_sync_does_not_overtake_the_first(log: Log) -> None:
    append(log, "a")
    first = log.begin_sync()
    second = log.begin_sync()
    first.run()
    second.run()
    assert log.finish_sync(second)
    assert log.durable_offset == 1
    assert not log.finish_sync(first)


def test_a_sync_does_not_cover_records_written_after_a_truncation(log: Log) -> None:
    append(log, "a")
    append(log, "b")
    job = log.begin_sync()
    log.truncate_to(1, now_ms=NOW_MS)
    append(log, "c")
    job.run()
    assert not log.finish_sync(job)
    assert log.durable_offset == 0


# -- idling and closing -------------------------------------------------------------------------------------


def test_a_released_log_holds_no_open_file_and_reopens_when_used(log: Log) -> None:
    append(log, "a")
    sync(log)
    log.release()
    assert len(log.cache) == 0
    append(log, "b")
    assert all_values(log) == ["a", "b"]


def test_a_closed_log_refuses_appends_and_reopens_without_recovery(log: Log) -> None:
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0)
    close(log)
    with pytest.raises(Exception, match="closed"):
        append(log, "b")
    again = reopened(log, was_clean=True)
    assert again.log_end_offset == 1
    assert append(again, "a", producer_id=5, producer_epoch=0, base_sequence=0).duplicate
    append(again, "b")
    assert all_values(again) == ["a", "b"]


def test_files_have_kafkas_names(log: Log) -> None:
    for number in range(3):
        append(log, str(number) * 3_000)
    close(log)
    assert sorted(os.listdir(log.directory)) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000003.snapshot",
        "leader-epoch-checkpoint",
    ]
    content = Path(log.segments[0].log_path).read_bytes()
    assert parse_header(content).size_bytes >= HEADER_SIZE
    assert len(content) == log.segments[0].size_bytes


# -- truncation and deletion --------------------------------------------------------------------------------


def test_truncation_drops_whole_batches_and_later_segments(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=2)
    for value in "abcdef":
        append(log, value)
    assert log.truncate_to(3, now_ms=NOW_MS) == 3
    assert all_values(log) == ["a", "b", "c"]
    assert bases(log) == [0, 2]
    append(log, "x")
    assert all_values(log) == ["a", "b", "c", "x"]


def test_truncation_inside_a_batch_drops_the_whole_batch(log: Log) -> None:
    append(log, "a")
    append(log, "b", "c", "d")
    assert log.truncate_to(3, now_ms=NOW_MS) == 1
    assert log.log_end_offset == 1


@pytest.mark.parametrize("offset", [0, 2, 3])
def test_truncation_of_the_batch_with_the_log_start_leaves_an_empty_log_with_the_same_start(
    log: Log, offset: int
) -> None:
    append(log, "a")
    append(log, "b", "c", "d")
    append(log, "e")
    log.advance_log_start(2)
    assert log.truncate_to(offset, now_ms=NOW_MS) == 2
    assert (log.log_start_offset, log.log_end_offset, log.durable_offset, log.recovery_point) == (2, 2, 2, 0)
    assert append(log, "x").base_offset == 2
    assert all_values(log) == ["x"]


def test_truncation_to_the_end_forgets_an_epoch_that_wrote_nothing(log: Log) -> None:
    append(log, "a", epoch=1)
    log.begin_epoch(2)
    assert log.truncate_to(1, now_ms=NOW_MS) == 1
    assert log.epochs.latest_epoch == 1


def test_truncation_forgets_producers_and_epochs_of_dropped_records(log: Log) -> None:
    append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0)
    append(log, "b", producer_id=5, producer_epoch=0, base_sequence=1, epoch=2)
    log.truncate_to(1, now_ms=NOW_MS)
    assert log.epochs.latest_epoch == 0
    assert not append(log, "b", producer_id=5, producer_epoch=0, base_sequence=1).duplicate
    assert append(log, "a", producer_id=5, producer_epoch=0, base_sequence=0).duplicate


def test_a_log_can_start_over_at_another_offset(log: Log) -> None:
    append(log, "a")
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.durable_offset) == (100, 100, 100)
    assert append(log, "b").base_offset == 100
    assert all_values(log) == ["b"]


def test_deleting_records_moves_the_log_start_and_deletes_whole_segments(tmp_path: Path) -> None:
    log = new_log(str(tmp_path), segment_records=2)
    for value in "abcdef":
        append(log, value)
    log.advance_log_start(3)
    assert bases(log) == [2, 4]
    with pytest.raises(OffsetOutOfRange):
        read(log, 2)
    assert values_in(read(log, 3)) == ["d"]
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".log")) == [
        f"{2:020d}.log",
        f"{4:020d}.log",
    ]


def test_the_log_start_cannot_move_past_the_end(log: Log) -> None:
    append(log, "a")
    with pytest.raises(OffsetOutOfRange):
        log.advance_log_start(2)


def test_deleting_all_segments_leaves_an_empty_one_at_the_end(log: Log) -> None:
    append(log, "a")
    log.delete_oldest(1, now_ms=NOW_MS)
    assert (log.log_start_offset, bases(log)) == (1, [1])
    assert append(log, "b").base_offset == 1


def produced(sequence: int, offset: int, epoch: int, producer_id: int = 7) -> bytes:
    """A batch of a producer, as another replica has stored it."""
    batch = batch_of(
        str(offset), producer_id=producer_id, producer_epoch=0, base_sequence=sequence, base_offset=offset
    )
    set_base_offset_and_epoch(batch, 0, offset, epoch)
    return bytes(batch)


def last_sequences(log: Log) -> dict[int, int]:
    return {each.producer_id: each.last_sequence for each in log.producers}


def test_a_promoted_mirror_forgets_the_producers_of_its_source(log: Log) -> None:
    log.append_replicated(produced(41, 0, epoch=3), now_ms=NOW_MS)
    assert last_sequences(log) == {7: 41}
    log.follow_own_epoch(9)
    assert last_sequences(log) == {7: 41}, "no record of this cluster yet"
    log.begin_epoch(9)
    assert last_sequences(log) == {}


def test_a_follower_forgets_them_between_two_batches_of_one_fetch(log: Log) -> None:
    log.follow_own_epoch(9)
    fetched = produced(41, 0, epoch=3) + produced(5, 1, epoch=3, producer_id=8) + produced(0, 2, epoch=9)
    log.append_replicated(fetched, now_ms=NOW_MS)
    assert last_sequences(log) == {7: 0}
    entry = log.producers.get(7)
    assert entry is not None
    assert [each.last_offset for each in entry.batches] == [2]
    assert log.epochs.entries == [(3, 0), (9, 2)]


def test_they_stay_forgotten_after_a_replay_and_a_truncation(log: Log) -> None:
    log.follow_own_epoch(9)
    for each in (produced(41, 0, epoch=3), produced(0, 1, epoch=9), produced(1, 2, epoch=9)):
        log.append_replicated(each, now_ms=NOW_MS)
    again = reopened(log)
    again.follow_own_epoch(9)
    for each_log in (log, again):
        entry = each_log.producers.get(7)
        assert entry is not None
        assert [kept.last_offset for kept in entry.batches] == [1, 2]
    log.truncate_to(2, now_ms=NOW_MS)
    entry = log.producers.get(7)
    assert entry is not None
    assert [kept.last_offset for kept in entry.batches] == [1]
