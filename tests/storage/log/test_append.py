import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.rules import rules_for
from penstock.storage.errors import AppendRejected
from penstock.storage.log.append import assign_offsets, prepare_own, prepare_produced
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
