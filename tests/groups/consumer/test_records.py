"""The records of a KIP-848 group as bytes."""

import pytest

from penstock.groups.consumer import records
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.shard.records import offset_record
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.consumer_group_partition_metadata_record import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from tests.groups.consumer.driver import Consumer, Driver, beat_until_stable


def test_written_records_are_decoded() -> None:
    driver = Driver(a=4, b=1)
    first, second = Consumer(driver, "m1", "a").join(), Consumer(driver, "m2", regex="[ab]").join()
    beat_until_stable(first, second)
    driver.leave("m1")
    group = ConsumerGroup("g")

    for change in driver.log:
        written = records.encode(change, 1)
        assert written.key is not None
        decoded = records.decode(written.key, written.value)
        assert decoded == change
        group.apply(*decoded)

    assert group.members == driver.group.members


def test_a_record_begins_with_its_type_and_its_value_with_its_version() -> None:
    driver = Driver()
    Consumer(driver, "m1").join()

    types = [(records.encode(c, 1).key or b"")[:2] for c in driver.log]

    assert [int.from_bytes(each, "big") for each in types] == [5, 3, 7, 6, 8]
    assert all((records.encode(c, 1).value or b"")[:2] == b"\0\0" for c in driver.log)


def test_other_records_are_not_a_groups() -> None:
    offset = offset_record(OffsetCommitKey(group="g", topic="a", partition=0), OffsetCommitValue(offset=1), 1)

    assert records.decode(offset.key or b"", offset.value) is None


def test_a_malformed_record_is_distinguished_from_another_kind() -> None:
    with pytest.raises(ProtocolError):
        records.decode(b"\0\3\0", b"")


def test_the_older_record_of_partitions_is_removed_when_the_epoch_rises() -> None:
    driver = Driver()
    driver.group.apply(ConsumerGroupPartitionMetadataKey(group_id="g"), ConsumerGroupPartitionMetadataValue())

    Consumer(driver, "m1").join()

    assert (ConsumerGroupPartitionMetadataKey(group_id="g"), None) in driver.written
    Consumer(driver, "m2").join()
    assert (ConsumerGroupPartitionMetadataKey(group_id="g"), None) not in driver.written
