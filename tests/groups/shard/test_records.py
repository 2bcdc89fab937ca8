import pytest

from penstock.groups.shard.records import decode, group_record, offset_record
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.group_metadata_record import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue

KEY = OffsetCommitKey(group="g", topic="t", partition=3)


def test_an_offset_round_trips() -> None:
    value = OffsetCommitValue(
        offset=7, leader_epoch=2, metadata="note", commit_timestamp=5, topic_id=b"i" * 16
    )
    record = offset_record(KEY, value, 99)

    assert record.key is not None
    assert decode(record.key, record.value) == (KEY, value)
    assert record.timestamp == 99


def test_an_offset_with_an_expiry_time_is_written_in_the_version_that_has_one() -> None:
    record = offset_record(KEY, OffsetCommitValue(offset=7, expire_timestamp=123), 0)

    assert record.value is not None
    assert record.value[:2] == b"\x00\x01"
    assert record.key is not None
    decoded = decode(record.key, record.value)
    assert decoded is not None
    assert decoded[1].expire_timestamp == 123


def test_an_offset_is_written_as_kafka_writes_it() -> None:
    record = offset_record(KEY, OffsetCommitValue(offset=7, commit_timestamp=1), 0)

    assert record.key == b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03"
    assert record.value == bytes.fromhex("0004 0000000000000007 ffffffff 01 0000000000000001 00")


def test_a_group_round_trips() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol="range",
        leader="a",
        current_state_timestamp=9,
        members=[MemberMetadata(member_id="a", group_instance_id="i", session_timeout=6, assignment=b"x")],
    )
    record = group_record("g", value, 0)

    assert record.key == b"\x00\x02\x00\x01g"
    assert decode(record.key, record.value) == (GroupMetadataKey(group="g"), value)


def test_null_is_a_tombstone() -> None:
    assert offset_record(KEY, None, 0).value is None
    assert group_record("g", None, 0).value is None


def test_the_first_version_of_an_offset_key_is_read() -> None:
    assert decode(b"\x00\x00\x00\x01g\x00\x01t\x00\x00\x00\x03", None) == (KEY, None)


def test_records_of_other_types_are_skipped() -> None:
    assert decode(b"\x00\x03\x00\x01g", None) is None


@pytest.mark.parametrize("key", [b"\x00\x01\x00", b"\x00\x02"])
def test_a_truncated_key_is_an_error(key: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(key, None)
