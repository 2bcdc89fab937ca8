"""Messages that are stored in internal topics: kio and kafka-python do not have them, so their bytes are given here."""

from penstock.protocol.messages import (
    consumer_group_member_metadata_record,
    end_txn_marker,
    group_metadata_record,
    metadata_records,
    offset_commit_record,
    transaction_log_record,
)


def test_an_offset_commit_is_keyed_by_group_topic_and_partition() -> None:
    key = offset_commit_record.OffsetCommitKey(group="g", topic="t", partition=5)
    assert offset_commit_record.RECORD_TYPE == 1
    assert offset_commit_record.encode_key(key, 0) == b"\x00\x01g\x00\x01t\x00\x00\x00\x05"


def test_an_offset_commit_lost_its_expiry_in_version_2_and_gained_an_epoch_in_version_3() -> None:
    value = offset_commit_record.OffsetCommitValue(offset=7, metadata="m", commit_timestamp=9)
    offset, metadata, timestamp, epoch = bytes(7) + b"\x07", b"\x00\x01m", bytes(7) + b"\x09", b"\xff" * 4
    assert offset_commit_record.encode_value(value, 1) == offset + metadata + timestamp + b"\xff" * 8
    assert offset_commit_record.encode_value(value, 2) == offset + metadata + timestamp
    assert offset_commit_record.encode_value(value, 3) == offset + epoch + metadata + timestamp
    assert offset_commit_record.encode_value(value, 4) == offset + epoch + b"\x02m" + timestamp + b"\x00"


def test_a_group_is_keyed_by_its_id() -> None:
    assert group_metadata_record.RECORD_TYPE == 2
    assert (
        group_metadata_record.encode_key(group_metadata_record.GroupMetadataKey(group="g"), 0) == b"\x00\x01g"
    )


def test_a_group_member_has_an_instance_id_from_version_3() -> None:
    member = group_metadata_record.MemberMetadata(
        member_id="m",
        client_id="c",
        client_host="h",
        rebalance_timeout=1,
        session_timeout=2,
        subscription=b"s",
        assignment=b"a",
    )
    group = group_metadata_record.GroupMetadataValue(
        protocol_type="consumer",
        generation=4,
        protocol=None,
        leader=None,
        current_state_timestamp=0,
        members=[member],
    )
    head = b"\x00\x08consumer\x00\x00\x00\x04\xff\xff\xff\xff" + bytes(8) + b"\x00\x00\x00\x01\x00\x01m"
    tail = b"\x00\x01c\x00\x01h\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01s\x00\x00\x00\x01a"
    assert group_metadata_record.encode_value(group, 2) == head + tail
    assert group_metadata_record.encode_value(group, 3) == head + b"\xff\xff" + tail


def test_a_transaction_without_partitions_holds_a_null_array() -> None:
    key = transaction_log_record.TransactionLogKey(transactional_id="x")
    value = transaction_log_record.TransactionLogValue(
        producer_id=1,
        producer_epoch=2,
        transaction_timeout_ms=3,
        transaction_status=0,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=4,
        transaction_start_timestamp_ms=-1,
    )
    head, times = bytes(7) + b"\x01\x00\x02\x00\x00\x00\x03\x00", bytes(7) + b"\x04" + b"\xff" * 8
    assert transaction_log_record.encode_key(key, 0) == b"\x00\x01x"
    assert transaction_log_record.encode_value(value, 0) == head + b"\xff\xff\xff\xff" + times
    assert transaction_log_record.encode_value(value, 1) == head + b"\x00" + times + b"\x00"


def test_a_nullable_struct_in_a_tagged_field_starts_with_a_varint_that_is_0_for_null() -> None:
    member = consumer_group_member_metadata_record
    without = member.ConsumerGroupMemberMetadataValue()
    classic = member.ClassicMemberMetadata(session_timeout_ms=5)
    plain = member.encode_value(without, 0)
    assert plain[-1] == 0
    struct = b"\x00\x00\x00\x05\x01\x00"
    with_classic = member.ConsumerGroupMemberMetadataValue(classic_member_metadata=classic)
    assert member.encode_value(with_classic, 0) == plain[:-1] + b"\x01\x00\x07\x01" + struct
    assert member.decode_value(plain[:-1] + b"\x01\x00\x01\x00", 0) == without


def test_an_end_transaction_marker_holds_the_coordinators_epoch() -> None:
    marker = end_txn_marker.EndTxnMarker(coordinator_epoch=7)
    assert end_txn_marker.encode(marker, 0) == b"\x00\x00\x00\x07"
    assert end_txn_marker.decode(b"\x00\x00\x00\x07", 0) == marker


def test_a_topic_record_holds_a_name_and_an_id() -> None:
    record = metadata_records.TopicRecord(name="t", topic_id=bytes(range(16)))
    assert metadata_records.SPEC_OF[metadata_records.TopicRecord].api_key == 2
    assert metadata_records.encode_topic_record(record, 0) == b"\x02t" + bytes(range(16)) + b"\x00"
