import pytest

from penstock.protocol.records.batch import crc_is_valid, parse_header
from penstock.protocol.records.control import (
    ControlType,
    EndTxnMarker,
    build_control_batch,
    build_end_txn_batch,
    control_type,
    decode_end_txn_marker,
)
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import decode_records


@pytest.mark.parametrize(("is_commit", "key"), [(True, b"\x00\x00\x00\x01"), (False, b"\x00\x00\x00\x00")])
def test_a_transaction_marker_has_kafkas_bytes(is_commit: bool, key: bytes) -> None:
    marker = EndTxnMarker(is_commit=is_commit, coordinator_epoch=258)
    batch = build_end_txn_batch(marker, producer_id=77, producer_epoch=4, timestamp=1234, leader_epoch=6)
    header = parse_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 4, -1)
    assert crc_is_valid(batch, 0, len(batch))
    (record,) = decode_records(batch)
    assert record.key == key
    assert record.value == b"\x00\x00\x00\x00\x01\x02"
    assert record.timestamp == 1234
    assert decode_end_txn_marker(record.key, record.value) == marker


def test_other_control_batches_carry_the_message_they_are_given() -> None:
    batch = build_control_batch(
        ControlType.LEADER_CHANGE, b"message", timestamp=5, base_offset=40, leader_epoch=2
    )
    header = parse_header(batch)
    assert header.is_control
    assert not header.is_transactional
    assert (header.base_offset, header.leader_epoch) == (40, 2)
    (record,) = decode_records(batch)
    assert control_type(record.key) is ControlType.LEADER_CHANGE
    assert record.value == b"message"


def test_a_control_type_of_a_later_version_is_unknown_and_not_an_error() -> None:
    assert control_type(b"\x00\x00\x00\x63") is ControlType.UNKNOWN
    assert control_type(b"\x00\x07\x00\x01extra") is ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_a_malformed_control_key_is_corrupt(key: bytes | None) -> None:
    with pytest.raises(CorruptRecords):
        control_type(key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00"),
        (b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x01"),
    ],
)
def test_a_malformed_marker_is_corrupt(key: bytes, value: bytes | None) -> None:
    with pytest.raises(CorruptRecords):
        decode_end_txn_marker(key, value)


def test_a_control_record_of_another_type_is_no_marker() -> None:
    assert decode_end_txn_marker(b"\x00\x00\x00\x02", b"\x00\x00\x00\x00\x00\x01") is None
