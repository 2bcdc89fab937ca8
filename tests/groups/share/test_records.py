"""Records of share groups, byte by byte where it matters, and there and back."""

import pytest

from penstock.groups.share.records import decode, encode
from penstock.protocol.coordinator_records import TypedRecord
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.share_group_metadata_record import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from tests.groups.share.driver import Consumer, Driver


def test_a_groups_epoch_is_written_as_kafka_writes_it() -> None:
    group_record: TypedRecord = (
        ShareGroupMetadataKey(group_id="g"),
        ShareGroupMetadataValue(epoch=3, metadata_hash=7),
    )

    record = encode(group_record, 5)

    assert record.key == bytes.fromhex("000b 0001 67")
    assert record.value == bytes.fromhex("0000 00000003 0000000000000007 00")
    assert record.timestamp == 5


def test_every_record_of_a_group_round_trips() -> None:
    driver = Driver(a=2)
    member = Consumer(driver, "m1").join()
    driver.share_coordinator_answers()
    member.beat()
    driver.leave("m1")
    log: list[TypedRecord] = [*driver.log, *driver.group.tombstones()]

    for group_record in log:
        record = encode(group_record, 0)
        assert record.key is not None
        assert decode(record.key, record.value) == group_record
    assert len({type(key) for key, _ in log}) == 6


def test_records_of_other_groups_are_skipped_and_malformed_ones_refused() -> None:
    assert decode(b"\x00\x03\x00\x01g", None) is None
    with pytest.raises(ProtocolError):
        decode(b"\x00\x0b\x00\x09g", None)
