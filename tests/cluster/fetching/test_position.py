import pytest

from penstock.cluster.fetching.position import (
    Append,
    LogView,
    Reaction,
    Rest,
    StartOver,
    Truncate,
    ask,
    react,
    truncation_offset,
)
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import EpochEndOffset, PartitionData


def test_a_follower_asks_for_what_comes_after_its_last_record_and_names_its_epoch() -> None:
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
            Rest(ErrorCode.FENCED_LEADER_EPOCH),
        ),
        (
            PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER),
            Rest(ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ),
        (PartitionData(error_code=ErrorCode.KAFKA_STORAGE_ERROR), Rest(ErrorCode.KAFKA_STORAGE_ERROR)),
    ],
)
def test_each_answer_has_its_reaction(data: PartitionData, reaction: Reaction) -> None:
    assert react(data) == reaction


@pytest.mark.parametrize(
    ("told", "own", "end_offset", "cut_at"),
    [
        # Both know epoch 2: the shorter of the two.
        (Truncate(2, 9), (2, 12), 15, 9),
        (Truncate(2, 9), (2, 6), 15, 6),
        # This log does not know epoch 2: cut where its last older epoch ends, and ask again.
        (Truncate(2, 9), (1, 4), 15, 4),
        # It knows nothing so old: the leader's word.
        (Truncate(2, 9), (-1, -1), 15, 9),
        (Truncate(2, 20), (-1, -1), 15, 15),
    ],
)
def test_where_two_histories_part(told: Truncate, own: tuple[int, int], end_offset: int, cut_at: int) -> None:
    assert truncation_offset(told, *own, end_offset) == cut_at
