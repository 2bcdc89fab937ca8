"""The log's records are Kafka's, byte for byte, and come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.errors import ProtocolError
from penstock.protocol.records.record import Record
from penstock.transactions.ids import TransactionalIds
from penstock.transactions.records import decode, tombstone, transaction_record
from penstock.transactions.state import TopicPartition, Transaction
from penstock.transactions.states import State

ONGOING = Transaction(
    transactional_id="app",
    producer_id=1000,
    producer_epoch=3,
    timeout_ms=60_000,
    updated_ms=2,
    started_ms=1,
    state=State.ONGOING,
    partitions=frozenset({TopicPartition("a", 1), TopicPartition("a", 0), TopicPartition("b", 7)}),
    previous_producer_id=999,
    client_version=0,
)

transactions = st.builds(
    Transaction,
    transactional_id=st.text(max_size=20),
    producer_id=st.integers(0, 2**62),
    producer_epoch=st.integers(-1, 32767),
    timeout_ms=st.integers(1, 2**31 - 1),
    updated_ms=st.integers(0, 2**62),
    started_ms=st.integers(-1, 2**62),
    state=st.sampled_from([s for s in State if s is not State.EMPTY]),
    partitions=st.frozensets(
        st.builds(TopicPartition, st.text(min_size=1, max_size=9), st.integers(0, 2**31 - 1)), max_size=9
    ),
    previous_producer_id=st.integers(-1, 2**62),
    next_producer_id=st.integers(-1, 2**62),
    client_version=st.integers(0, 2),
)


def test_a_record_of_the_first_version_has_kafkas_bytes() -> None:
    record = transaction_record(ONGOING, is_flexible=False)
    assert record.key == bytes.fromhex("0000 0003") + b"app"
    assert record.value == (
        bytes.fromhex("0000")  # version
        + bytes.fromhex("00000000000003e8 0003 0000ea60 01")  # producer id, epoch, timeout, Ongoing
        + bytes.fromhex("00000002")  # topics
        + bytes.fromhex("0001 61 00000002 00000000 00000001")
        + bytes.fromhex("0001 62 00000001 00000007")
        + bytes.fromhex("0000000000000002 0000000000000001")  # updated, started
    )


def test_a_record_of_the_flexible_version_carries_the_previous_producer_id_as_a_tagged_field() -> None:
    record = transaction_record(ONGOING, is_flexible=True)
    assert record.value is not None
    assert record.value.startswith(bytes.fromhex("0001 00000000000003e8 0003 0000ea60 01 03"))
    assert record.value.endswith(
        bytes.fromhex("0000000000000002 0000000000000001") + bytes.fromhex("01 00 08 00000000000003e7")
    )


def test_an_empty_transaction_has_null_for_its_partitions_as_kafka_writes_it() -> None:
    empty = Transaction(transactional_id="app", producer_id=1, producer_epoch=0, timeout_ms=5, updated_ms=2)
    record = transaction_record(empty, is_flexible=False)
    assert record.value is not None
    assert record.value[17:21] == bytes.fromhex("ffffffff")
    assert record.key is not None
    assert decode(record.key, record.value) == ("app", empty)


@given(transactions)
def test_a_flexible_record_round_trips(transaction: Transaction) -> None:
    record = transaction_record(transaction, is_flexible=True)
    assert record.key is not None
    assert decode(record.key, record.value) == (transaction.transactional_id, transaction)


def stored(offset: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(offset, 0, key, value)


def test_the_last_record_of_an_id_wins_and_a_tombstone_deletes_it() -> None:
    ids = TransactionalIds()
    record = transaction_record(ONGOING, is_flexible=True)
    ids.replay(stored(0, bytes(record.key or b""), bytes(record.value or b"")), -1)
    assert ids.get("app") == ONGOING
    gone = tombstone("app", 5)
    ids.replay(stored(1, bytes(gone.key or b""), None), -1)
    assert ids.get("app") is None


def test_a_record_that_cannot_be_read_is_refused_and_one_of_an_unknown_kind_is_skipped() -> None:
    ids = TransactionalIds()
    record = transaction_record(ONGOING, is_flexible=True)
    key = bytes(record.key or b"")
    with pytest.raises(ProtocolError):
        ids.replay(stored(0, b"\0\0\0\xff", b""), -1)
    with pytest.raises(ProtocolError):
        ids.replay(stored(1, key, b"\0\x63"), -1)
    ids.replay(stored(2, b"\0\x09whatever", b"x"), -1)  # of a kind that only a later version knows
    ids.replay(stored(3, key, bytes(record.value or b"")), -1)
    assert ids.get("app") == ONGOING


def test_a_state_that_does_not_exist_is_refused() -> None:
    record = transaction_record(ONGOING, is_flexible=False)
    value = bytearray(record.value or b"")
    value[16] = 99
    with pytest.raises(ProtocolError, match="99"):
        decode(record.key or b"", bytes(value))
