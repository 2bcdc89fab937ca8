"""Every version of every message round trips."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import (
    api_versions,
    describe_topic_partitions,
    fetch,
    metadata,
    metadata_records,
    produce,
)
from penstock.protocol.wire import write_uvarint
from tests.protocol.message_strategies import CASE_OF, samples


@pytest.mark.parametrize("name", list(CASE_OF))
def test_every_version_round_trips_and_others_are_refused(name: str) -> None:
    case = CASE_OF[name]
    for versions in case.alike():
        for value in samples(name, versions[0]):
            for version in versions:
                data = case.encode(value, version)
                assert case.decode(data, version) == value
                assert case.decode(memoryview(data), version) == value
                assert case.encode(case.decode(data, version), version) == data
    for version in (case.versions.start - 1, case.versions.stop, -1, 0x7FFF):
        with pytest.raises(ProtocolError, match=f"{name} has no version {version}"):
            case.decode(b"", version)
        with pytest.raises(ProtocolError, match=f"{name} has no version {version}"):
            case.encode(None, version)


def test_bytes_after_a_request_are_ignored_as_kafka_does() -> None:
    data = metadata.encode_request(metadata.MetadataRequest(topics=None), 9)
    assert metadata.decode_request(data + b"more", 9) == metadata.decode_request(data, 9)


def test_decoding_starts_at_the_position_given() -> None:
    request = produce.ProduceRequest(acks=-1, timeout_ms=30_000)
    assert produce.decode_request(b"header" + produce.encode_request(request, 9), 9, 6) == request


def test_records_are_a_view_into_the_frame_and_not_a_copy() -> None:
    partition = produce.PartitionProduceData(index=7, records=b"records")
    topic = produce.TopicProduceData(name="orders", partition_data=[partition])
    for version in produce.VERSIONS:
        frame = bytearray(produce.encode_request(produce.ProduceRequest(topic_data=[topic]), version))
        decoded = produce.decode_request(memoryview(frame), version)
        records = decoded.topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records.obj is frame
        assert bytes(records) == b"records"


def test_a_field_that_the_version_lacks_is_dropped_when_it_is_ignorable() -> None:
    request = fetch.FetchRequest(rack_id="rack-1")
    assert fetch.decode_request(fetch.encode_request(request, 10), 10).rack_id == ""
    assert fetch.decode_request(fetch.encode_request(request, 11), 11).rack_id == "rack-1"


def test_a_field_that_the_version_lacks_is_refused_by_name_when_it_is_not_ignorable() -> None:
    forgotten = fetch.FetchRequest(forgotten_topics_data=[fetch.ForgottenTopic(topic="orders")])
    with pytest.raises(ProtocolError, match=r"FetchRequest\.forgotten_topics_data .*versions? 5-6 "):
        fetch.encode_request(forgotten, 6)


def test_null_is_refused_by_name_in_a_version_where_the_field_is_not_nullable() -> None:
    with pytest.raises(ProtocolError, match=r"MetadataRequest\.topics is null"):
        metadata.encode_request(metadata.MetadataRequest(topics=None), 0)
    with pytest.raises(ProtocolError, match="null array"):
        metadata.decode_request(b"\xff\xff\xff\xff", 0)
    with pytest.raises(ProtocolError, match="null string"):
        api_versions.decode_request(b"\x00\x02x\x00", 3)


def test_a_value_that_its_type_cannot_hold_is_refused() -> None:
    with pytest.raises(ProtocolError, match="out of range"):
        produce.encode_request(produce.ProduceRequest(acks=1 << 15), 9)


def test_a_tagged_field_that_holds_its_default_takes_no_bytes() -> None:
    plain = fetch.encode_request(fetch.FetchRequest(), 15)
    tagged = fetch.encode_request(fetch.FetchRequest(cluster_id="c"), 15)
    assert plain[-1] == 0
    assert tagged == plain[:-1] + bytes([1, 0, 2, 2]) + b"c"


@given(st.lists(st.tuples(st.integers(100, 2**32 - 1), st.binary(max_size=200)), max_size=4))
@settings(deadline=None, max_examples=50)
def test_unknown_tagged_fields_are_skipped(unknown: list[tuple[int, bytes]]) -> None:
    request = fetch.FetchRequest(cluster_id="c", max_wait_ms=5)
    data = bytearray(fetch.encode_request(request, 15)[:-5])
    write_uvarint(data, len(unknown) + 1)
    for tag, value in unknown:
        write_uvarint(data, tag)
        write_uvarint(data, len(value))
        data += value
    data += b"\x00\x02\x02c"
    assert fetch.decode_request(data, 15) == request


def test_unknown_tagged_fields_are_skipped_in_a_struct_without_tagged_fields() -> None:
    assert api_versions.decode_request(
        b"\x02a\x02b\x02\x07\x03xyz\x08\x00", 3
    ) == api_versions.ApiVersionsRequest(client_software_name="a", client_software_version="b")


def test_a_tagged_field_must_fill_the_size_it_announces() -> None:
    data = fetch.encode_request(fetch.FetchRequest(), 15)[:-1]
    with pytest.raises(ProtocolError, match="tagged field 0"):
        fetch.decode_request(data + b"\x01\x00\x03\x02cc", 15)
    with pytest.raises(ProtocolError):
        fetch.decode_request(data + b"\x01\x00\xff\xff\xff\xff\x0f\x02c", 15)


@pytest.mark.parametrize("version", metadata.VERSIONS)
def test_a_huge_array_in_a_few_bytes_is_refused_before_anything_is_allocated(version: int) -> None:
    data = b"\xff\xff\xff\xff\x07" if version >= metadata.FLEXIBLE_FROM else b"\x7f\xff\xff\xff"
    with pytest.raises(ProtocolError, match="cannot fit"):
        metadata.decode_request(data + bytes(4), version)


def test_a_nullable_struct_is_a_byte_and_then_the_struct() -> None:
    without = describe_topic_partitions.DescribeTopicPartitionsRequest()
    cursor = describe_topic_partitions.RequestCursor(topic_name="t", partition_index=1)
    with_cursor = describe_topic_partitions.DescribeTopicPartitionsRequest(cursor=cursor)
    assert describe_topic_partitions.encode_request(without, 0) == b"\x01\x00\x00\x07\xd0\xff\x00"
    assert (
        describe_topic_partitions.encode_request(with_cursor, 0)[5:] == b"\x01\x02t\x00\x00\x00\x01\x00\x00"
    )


def test_metadata_records_are_found_by_their_key() -> None:
    record = metadata_records.TopicRecord(name="orders", topic_id=bytes(range(16)))
    spec = metadata_records.SPEC_OF[metadata_records.TopicRecord]
    out = bytearray()
    metadata_records.encode_into(out, record, spec.versions[-1])
    assert metadata_records.decode(spec.api_key, out, spec.versions[-1]) == record
    with pytest.raises(ProtocolError, match="no metadata record"):
        metadata_records.decode(32_000, out, 0)
