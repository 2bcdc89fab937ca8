import pytest

from penstock.cluster.fetching.position import (
    Append,
    BackOff,
    LogView,
    Reaction,
    StartOver,
    Truncate,
    ask,
    react,
    start_before,
    truncation_offset,
)
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import EpochEndOffset, PartitionData
from penstock.protocol.records.batch import set_base_offset_and_epoch
from tests.storage.logs import batch_of


def test_a_follower_fetches_from_its_end_and_names_its_last_epoch() -> None:
    asked = ask(4, LogView(end_offset=10, latest_epoch=3, start_offset=2), leader_epoch=5, bytes_max=100)
    assert (asked.partition, asked.fetch_offset, asked.last_fetched_epoch) == (4, 10, 3)
    assert (asked.current_leader_epoch, asked.log_start_offset, asked.partition_max_bytes) == (5, 2, 100)


@pytest.mark.parametrize(
    ("data", "reaction"),
    [
        (PartitionData(records=b"r", high_watermark=7, log_start_offset=1), Append(b"r", 7, 1)),
        (PartitionData(high_watermark=7, log_start_offset=1), Append(b"", 7, 1)),
        (PartitionData(diverging_epoch=EpochEndOffset(epoch=2, end_offset=9)), Truncate(2, 9)),
        (PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE), StartOver()),
        (
            PartitionData(error_code=ErrorCode.FENCED_LEADER_EPOCH),
            BackOff(ErrorCode.FENCED_LEADER_EPOCH),
        ),
        (
            PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
            BackOff(ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ),
        (PartitionData(error_code=ErrorCode.KAFKA_STORAGE_ERROR), BackOff(ErrorCode.KAFKA_STORAGE_ERROR)),
    ],
)
def test_each_answer_leads_to_the_expected_step(data: PartitionData, reaction: Reaction) -> None:
    assert react(data) == reaction


@pytest.mark.parametrize(
    ("answer", "own", "end_offset", "cut_at"),
    [
        # Both know epoch 2: the shorter of the two.
        (Truncate(2, 9), (2, 12), 15, 9),
        (Truncate(2, 9), (2, 6), 15, 6),
        # This log has no epoch 2: truncate to the end of its last older epoch, and ask again.
        (Truncate(2, 9), (1, 4), 15, 4),
        # It has no epoch so old: the leader's answer counts.
        (Truncate(2, 9), (-1, -1), 15, 9),
        (Truncate(2, 20), (-1, -1), 15, 15),
    ],
)
def test_the_truncation_offset_of_diverging_logs(
    answer: Truncate, own: tuple[int, int], end_offset: int, cut_at: int
) -> None:
    assert truncation_offset(answer, *own, end_offset) == cut_at


@pytest.mark.parametrize(
    ("start_offset", "end_offset", "base_offset"),
    [
        (11, 11, 10),  # in the middle of the batch
        (12, 12, 10),  # at its last record
        (10, 10, None),  # where it begins
        (13, 13, None),  # all of the batch is below the log
        (9, 9, None),  # a gap that compaction left
        (9, 12, None),  # the log has records: this batch cannot follow them
    ],
)
def test_an_empty_log_starts_at_the_batch_that_contains_its_leaders_start(
    start_offset: int, end_offset: int, base_offset: int | None
) -> None:
    batch = batch_of("a", "b", "c")
    set_base_offset_and_epoch(batch, 0, 10, 3)
    view = LogView(end_offset=end_offset, latest_epoch=-1, start_offset=start_offset)
    assert start_before(bytes(batch) * 2, view) == base_offset


@pytest.mark.parametrize("records", [b"", b"too short", bytes(100)])
def test_a_log_never_starts_at_bytes_that_are_not_a_batch(records: bytes) -> None:
    assert start_before(records, LogView(end_offset=5, latest_epoch=-1, start_offset=5)) is None
