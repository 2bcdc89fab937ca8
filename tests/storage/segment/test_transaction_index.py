import struct

from penstock.storage.segment.transaction_index import AbortedTransaction, TransactionIndex

FIRST = AbortedTransaction(7, 10, 20, 21)
SECOND = AbortedTransaction(8, 15, 30, 31)


def test_an_entry_is_a_version_and_four_numbers_in_34_bytes() -> None:
    assert TransactionIndex().add(FIRST) == struct.pack(">hqqqq", 0, 7, 10, 20, 21)


def test_an_index_round_trips_without_a_partial_last_entry() -> None:
    index = TransactionIndex()
    content = index.add(FIRST) + index.add(SECOND)
    assert TransactionIndex(content).overlapping(0, 100) == ([FIRST, SECOND], False)
    assert TransactionIndex(content[:-1]).overlapping(0, 100) == ([FIRST], False)


def test_only_transactions_with_records_in_the_range_are_returned() -> None:
    index = TransactionIndex()
    index.add(FIRST)
    index.add(SECOND)
    assert index.overlapping(21, 25) == ([SECOND], True)
    assert index.overlapping(0, 12) == ([FIRST], True)
    assert index.overlapping(31, 40) == ([], False)


def test_the_search_ends_at_a_transaction_that_ended_after_the_range() -> None:
    index = TransactionIndex()
    index.add(FIRST)
    assert index.overlapping(0, 21)[1]
    assert not index.overlapping(0, 22)[1]


def test_truncation_forgets_the_transactions_that_ended_at_or_above_the_offset() -> None:
    index = TransactionIndex()
    index.add(FIRST)
    index.add(SECOND)
    index.truncate_to(30)
    assert index.overlapping(0, 100)[0] == [FIRST]
