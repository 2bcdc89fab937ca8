from penstock.protocol.records.batch import BatchHeader
from penstock.share.partition.aborted import aborted_ranges
from penstock.storage.segment.transaction_index import AbortedTransaction

TRANSACTIONAL, CONTROL = 0x10, 0x20


def header(first: int, last: int, producer_id: int, attributes: int = TRANSACTIONAL) -> BatchHeader:
    return BatchHeader(
        first, 100, 0, 2, 0, attributes, last - first, 0, 0, producer_id, 0, 0, last - first + 1
    )


def test_batches_of_a_producer_are_aborted_up_to_its_marker() -> None:
    headers = [
        header(0, 4, 7),
        header(5, 9, 8),
        header(10, 14, 7),
        header(15, 15, 7, TRANSACTIONAL | CONTROL),
        header(16, 19, 7),
    ]
    assert aborted_ranges(headers, [AbortedTransaction(7, 0, 15, 20)]) == [(0, 4), (10, 14)]


def test_records_outside_of_transactions_are_not_aborted() -> None:
    assert aborted_ranges([header(0, 4, 7, attributes=0)], [AbortedTransaction(7, 0, 15, 20)]) == []


def test_nothing_is_aborted_where_no_transaction_was() -> None:
    assert aborted_ranges([header(0, 4, 7)], []) == []
