"""The batches of a fetch response that a reader gets."""

import pytest

from penstock.client.batches import next_offset_after, wanted_batches
from penstock.protocol.messages.fetch import AbortedTransaction
from penstock.protocol.records.builder import BatchBuilder
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.protocol.records.errors import CorruptRecords


def records(base_offset: int, count: int = 2, producer_id: int = -1) -> bytes:
    builder = BatchBuilder(base_offset)
    for _ in range(count):
        builder.append(None, b"v", timestamp=0)
    is_transactional = producer_id >= 0
    return builder.build(
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )


def marker(base_offset: int, producer_id: int, *, is_commit: bool) -> bytes:
    end = EndTxnMarker(is_commit=is_commit, coordinator_epoch=0)
    return build_end_txn_batch(
        end, producer_id=producer_id, producer_epoch=0, timestamp=0, base_offset=base_offset
    )


def wanted(
    data: bytes, first: int = 0, end: int = 10**9, aborted: list[AbortedTransaction] | None = None
) -> list[int]:
    return [batch.header.base_offset for batch in wanted_batches(data, first, end, aborted)]


def test_batches_outside_the_range_are_skipped_and_those_across_its_edges_are_not() -> None:
    data = records(0) + records(2) + records(4) + records(6)
    assert wanted(data, 3, 5) == [2, 4]
    assert wanted(data, 4, 6) == [4]


def test_the_next_offset_follows_the_last_whole_batch() -> None:
    data = records(0) + records(5, count=3)
    assert next_offset_after(data) == 8
    assert next_offset_after(data[:-1]) == 2
    assert next_offset_after(b"") is None


def test_a_batch_with_a_wrong_checksum_is_not_read() -> None:
    damaged = bytearray(records(0) + records(2))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecords, match="offset 2 does not match its checksum"):
        wanted(bytes(damaged))


def test_control_batches_are_never_returned() -> None:
    assert wanted(records(0, producer_id=7) + marker(2, 7, is_commit=True) + records(3)) == [0, 3]


def test_aborted_transactions_are_skipped_with_read_committed() -> None:
    data = (
        records(0, producer_id=7)
        + records(2, producer_id=8)
        + records(4)
        + marker(6, 7, is_commit=False)
        + records(7, producer_id=7)
        + marker(9, 8, is_commit=True)
        + marker(10, 7, is_commit=True)
    )
    aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    assert wanted(data, aborted=aborted) == [2, 4, 7]
    assert wanted(data) == [0, 2, 4, 7]


def test_a_producer_may_abort_twice_and_commit_in_between() -> None:
    data = b"".join(
        records(base, producer_id=7) + marker(base + 2, 7, is_commit=is_commit)
        for base, is_commit in ((0, False), (3, True), (6, False))
    )
    aborted = [AbortedTransaction(producer_id=7, first_offset=offset) for offset in (6, 0)]
    assert wanted(data, aborted=aborted) == [3]


def test_an_aborted_transaction_that_began_earlier_is_known_from_the_responses_list() -> None:
    data = records(10, producer_id=7) + marker(12, 7, is_commit=False)
    assert wanted(data, 10, aborted=[AbortedTransaction(producer_id=7, first_offset=2)]) == []
