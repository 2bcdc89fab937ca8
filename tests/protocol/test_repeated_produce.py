"""A Produce that begins as the one before is read as if nothing were remembered."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import (
    decode_request_header,
    encode_request_header,
    encode_response_header,
)
from penstock.protocol.messages import produce
from penstock.protocol.repeated_produce import ProduceHead, read_head
from penstock.protocol.request_header import RequestHeader

VERSIONS = range(produce.FLEXIBLE_FROM, produce.VERSIONS.stop)


def frame_of(version: int, correlation_id: int, records: bytes, *, index: int = 7) -> bytearray:
    out = bytearray()
    header = RequestHeader(
        api_key=0, api_version=version, correlation_id=correlation_id, client_id="a client"
    )
    encode_request_header(out, header)
    data = produce.PartitionProduceData(index=index, records=memoryview(records))
    topic = produce.TopicProduceData(
        name="" if version >= 13 else "orders", topic_id=bytes(16), partition_data=[data]
    )
    message = produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
    return out + produce.encode_request(message, version)


def read_anew(frame: bytearray) -> tuple[RequestHeader, produce.ProduceRequest]:
    header, position = decode_request_header(memoryview(frame))
    return header, produce.decode_request(frame, header.api_version, position)


def remembered(frame: bytearray) -> ProduceHead:
    header, position = decode_request_header(memoryview(frame))
    read = read_head(frame, header, position)
    assert read is not None
    return read[0]


def repeated(head: ProduceHead, frame: bytearray) -> tuple[RequestHeader, produce.ProduceRequest] | None:
    records = head.records_in(frame)
    return None if records is None else (head.header(frame), head.request(records))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size_bytes", [0, 1, 126, 127, 128, 300, 16_382])
def test_the_same_head_before_another_batch_is_recognized(version: int, size_bytes: int) -> None:
    head = remembered(frame_of(version, 1, b"x" * 200))
    frame = frame_of(version, 2, b"y" * size_bytes)
    assert repeated(head, frame) == read_anew(frame)


@pytest.mark.parametrize("size_bytes", [16_383, 70_000])
def test_before_a_large_batch_it_is_read_anew(size_bytes: int) -> None:
    head = remembered(frame_of(9, 1, b"x" * size_bytes))
    assert repeated(head, frame_of(9, 2, b"y" * size_bytes)) is None


@pytest.mark.parametrize("index", [0, 127, 128, 200, 2**31 - 1])
def test_any_partition_is_recognized_and_no_other_is_taken_for_it(index: int) -> None:
    head = remembered(frame_of(9, 1, b"batch", index=index))
    assert repeated(head, frame_of(9, 2, b"batch", index=index)) is not None
    assert repeated(head, frame_of(9, 2, b"batch", index=index ^ 1)) is None


def test_another_version_or_api_is_not_taken_for_it() -> None:
    head = remembered(frame_of(9, 1, b"batch"))
    assert repeated(head, frame_of(10, 2, b"batch")) is None
    other = frame_of(9, 2, b"batch")
    other[1] = 1
    assert repeated(head, other) is None


@pytest.mark.parametrize("index", [0, 7])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_recognized_in_damaged_bytes_is_what_they_say(version: int, index: int) -> None:
    whole = frame_of(version, 5, b"the batch" * 30, index=index)
    head = remembered(whole)
    assert all(repeated(head, whole[:size]) is None for size in range(len(whole))), "none is read in part"

    @settings(max_examples=50, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, len(whole) - 1), st.integers(0, 255), st.integers(0, len(whole) + 2))
    def check(position: int, byte: int, size: int) -> None:
        frame = bytearray(whole + b"\0\0")
        frame[position] = byte
        del frame[size if byte % 2 else len(whole) :]
        found = repeated(head, frame)
        if found is not None:
            assert found == read_anew(frame)

    check()


def test_a_head_with_nothing_behind_it_is_no_request() -> None:
    frame = frame_of(9, 1, b"x" * 200, index=0)
    head = remembered(frame)
    end = len(frame) - 3 - 200 - 2
    for rest in (b"", b"\0\0\0", b"\x80\0\0\0", b"\xff"):
        assert repeated(head, frame[:end] + rest) is None


def test_a_frame_that_is_nothing_is_left_to_who_complains() -> None:
    head = remembered(frame_of(9, 1, b"batch"))
    assert repeated(head, bytearray()) is None
    with pytest.raises(ProtocolError):
        read_anew(bytearray())


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_answered_as_any_other(version: int) -> None:
    head = remembered(frame_of(version, 1, b"batch"))
    frame = frame_of(version, -77, b"another")
    partition = produce.PartitionProduceResponse(
        index=7, base_offset=2**40, log_append_time_ms=-1, log_start_offset=12
    )
    topic = produce.TopicProduceResponse(
        name=head.name, topic_id=head.topic_id, partition_responses=[partition]
    )
    expected = bytearray(4)
    encode_response_header(expected, 0, version, -77)
    produce.encode_response_into(expected, produce.ProduceResponse(responses=[topic]), version)
    expected[:4] = (len(expected) - 4).to_bytes(4, "big")
    assert head.answer(frame, 2**40, -1, 12) == expected
