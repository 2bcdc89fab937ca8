import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.protocol.records.rules import rules_for
from penstock.storage.log.append import (
    assign_offsets,
    prepare_own,
    prepare_produced,
    prepare_replicated,
    split_by_record_count,
)
from penstock.storage.log.errors import AppendRejected
from penstock.storage.storable_batch import StorableBatch
from tests.storage.logs import NOW_MS, batch_of, config_of

RULES = rules_for(config_of())


def prepared(*sizes: int) -> list[StorableBatch]:
    records = b"".join(batch_of(*(str(number) for number in range(size))) for size in sizes)
    return prepare_own(records, RULES, NOW_MS)


def test_offsets_follow_on_from_batch_to_batch() -> None:
    batches = prepared(3, 2)
    assign_offsets(batches, 10, leader_epoch=4)
    assert [(batch.base_offset, batch.last_offset) for batch in batches] == [(10, 12), (13, 14)]


def test_bytes_after_the_last_whole_batch_are_refused() -> None:
    with pytest.raises(AppendRejected) as refused:
        prepare_own(batch_of("a") + b"rest", RULES, NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_RECORD


def test_nothing_at_all_is_refused() -> None:
    for prepare in (prepare_own, prepare_produced):
        with pytest.raises(AppendRejected):
            prepare(b"", RULES, NOW_MS)


def test_what_is_wrong_with_each_record_is_said() -> None:
    rules = rules_for(config_of(message_timestamp_after_max_ms=10))
    with pytest.raises(AppendRejected) as refused:
        prepare_produced(batch_of("a", "b", timestamp=NOW_MS + 11), rules, NOW_MS)
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1]


def test_a_fetch_without_a_whole_batch_is_nothing() -> None:
    assert prepare_replicated(b"", 0) == []
    assert prepare_replicated(batch_of("a")[:-1], 0) == []


@pytest.mark.parametrize(
    ("sizes", "room", "most", "groups"),
    [
        ([1], 5, 5, [[1]]),
        ([3, 2, 1], 5, 5, [[3, 2], [1]]),
        ([2, 2], 1, 3, [[2], [2]]),
        ([1, 9, 1], 1, 3, [[1], [9], [1]]),
        ([9], 0, 3, [[9]]),
    ],
)
def test_batches_are_grouped_so_that_each_segment_holds_no_more_records_than_it_may(
    sizes: list[int], room: int, most: int, groups: list[list[int]]
) -> None:
    found = split_by_record_count(prepared(*sizes), room, most)
    assert [[batch.header.record_count for batch in group] for group in found] == groups


def test_a_batch_of_a_later_epoch_than_its_leaders_is_refused() -> None:
    batch = batch_of("a")
    set_base_offset_and_epoch(batch, 0, 0, 5)
    assert len(prepare_replicated(bytes(batch), 0, 5)) == 1
    with pytest.raises(AppendRejected, match="leader epoch 5"):
        prepare_replicated(bytes(batch), 0, 4)
