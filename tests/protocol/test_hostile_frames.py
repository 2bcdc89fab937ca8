"""Malformed bytes only raise `ProtocolError`, and cost memory in proportion to the frame."""

import contextlib
import random
import tracemalloc

import pytest

from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import decode_request_header
from penstock.protocol.messages import fetch, metadata, offset_fetch, produce
from penstock.protocol.wire import ELEMENTS_MAX, write_uvarint
from tests.protocol.message_strategies import CASE_OF, Case, samples

HUGE = [
    b"\x7f\xff\xff\xff",
    b"\x7f\xff",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x80\x80",
]

# A decoded element is a Python object however few bytes it took: at worst a struct of some two hundred bytes for
# each byte of the frame. What must never appear is a cost that a length field announces and the frame lacks.
BYTES_PER_BYTE_MAX = 400
BYTES_MAX = 100_000


def damaged(frame: bytes, dice: random.Random) -> bytes:
    """The frame with a few bits flipped, cut short, overwritten by a huge length, or with bytes inserted."""
    data = bytearray(frame)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(4):
            case 0 if data:
                data[at % len(data)] ^= 1 << dice.randrange(8)
            case 1:
                del data[at:]
            case 2:
                length = dice.choice(HUGE)
                data[at : at + len(length)] = length
            case _:
                data[at:at] = dice.randbytes(dice.randint(1, 8))
    return bytes(data)


def decode_quietly(case: Case, data: bytes, version: int) -> None:
    with contextlib.suppress(ProtocolError):
        case.decode(memoryview(data), version)


@pytest.mark.parametrize("name", list(CASE_OF))
def test_hostile_bytes_are_decoded_or_refused_and_nothing_else(name: str) -> None:
    """Random bytes in every version; damaged frames in three; a frame cut anywhere is refused."""
    case, dice = CASE_OF[name], random.Random(name)
    versions = case.versions
    for version in versions:
        for size in (0, 1, 2, 7, 8, 64, 300):
            decode_quietly(case, dice.randbytes(size), version)
            decode_quietly(case, bytes(size), version)
            decode_quietly(case, b"\x01" * size, version)
    for version in sorted({versions[0], versions[len(versions) // 2], versions[-1]}):
        frames = [case.encode(value, version) for value in samples(name, version)]
        for frame in frames:
            for _ in range(8):
                decode_quietly(case, damaged(frame, dice), version)
    for frame in frames:  # of the last version
        for size in range(len(frame)):
            with pytest.raises(ProtocolError):
                case.decode(frame[:size], version)


def peak_memory(case: Case, data: bytes, version: int) -> int:
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    decode_quietly(case, data, version)
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize(
    "name",
    [
        "ProduceRequest",
        "FetchRequest",
        "MetadataRequest",
        "MetadataResponse",
        "CreateTopicsRequest",
        "VoteRequest",
    ],
)
def test_a_damaged_frame_costs_memory_in_proportion_to_its_size(name: str) -> None:
    case = CASE_OF[name]
    dice = random.Random(name)
    tracemalloc.start()
    try:
        for version in (case.versions[0], case.versions[-1]):
            frames = [case.encode(value, version) for value in samples(name, version)]
            for _ in range(100):
                data = damaged(dice.choice(frames), dice)
                assert peak_memory(case, data, version) < BYTES_MAX + BYTES_PER_BYTE_MAX * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "version", "data"),
    [
        ("MetadataRequest", 0, b"\x7f\xff\xff\xff" + bytes(4)),
        ("MetadataRequest", 12, b"\xff\xff\xff\xff\x07" + bytes(3)),
        ("ProduceRequest", 9, b"\x00\x00\x01\x00\x00\x00\x05\xff\xff\xff\xff\x07"),
        ("ProduceRequest", 3, b"\xff\xff\x00\x01\x00\x00\x00\x05\x7f\xff\xff\xff"),
        ("DeleteTopicsRequest", 1, b"\x7f\xff\xff\xff" + bytes(4)),
        ("ApiVersionsRequest", 3, b"\xff\xff\x01abc"),
    ],
)
def test_a_huge_length_in_a_few_bytes_costs_next_to_nothing(name: str, version: int, data: bytes) -> None:
    case = CASE_OF[name]
    case.module()
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            case.decode(data, version)
        assert tracemalloc.get_traced_memory()[1] < BYTES_MAX
    finally:
        tracemalloc.stop()


def test_the_smallest_elements_cost_memory_in_proportion_to_the_frame() -> None:
    """The worst that a client can do within the rules: a frame full of the smallest elements there are."""
    case = CASE_OF["FetchRequest"]
    version = fetch.VERSIONS[-1]
    topic = fetch.FetchTopic()
    data = case.encode(fetch.FetchRequest(topics=[topic] * 5_000), version)
    tracemalloc.start()
    try:
        assert peak_memory(case, data, version) < BYTES_PER_BYTE_MAX * len(data)
    finally:
        tracemalloc.stop()


def test_sixteen_megabytes_of_records_are_decoded_without_being_copied() -> None:
    partition = produce.PartitionProduceData(records=bytes(16 << 20))
    request = produce.ProduceRequest(topic_data=[produce.TopicProduceData(partition_data=[partition])])
    data = produce.encode_request(request, 9)
    tracemalloc.start()
    try:
        produce.decode_request(memoryview(data), 9)
        assert tracemalloc.get_traced_memory()[1] < BYTES_MAX
    finally:
        tracemalloc.stop()


def test_a_million_nested_tags_end_as_soon_as_the_frame_does() -> None:
    data = metadata.encode_request(metadata.MetadataRequest(topics=None), 9)[:-1] + b"\xff\xff\xff\xff\x0f"
    with pytest.raises(ProtocolError):
        metadata.decode_request(data + b"\x07\x00" * 1_000, 9)


def offsets_of(groups: int, topics: int, partitions: int) -> offset_fetch.OffsetFetchRequest:
    topic = offset_fetch.OffsetFetchRequestTopics(name="t", partition_indexes=[0] * partitions)
    group = offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=[topic] * topics)
    return offset_fetch.OffsetFetchRequest(groups=[group] * groups)


@pytest.mark.parametrize("shape", [(30_000, 1, 0), (1, 30_000, 1), (1, 1, ELEMENTS_MAX), (40, 40, 40)])
def test_a_request_that_names_too_much_in_all_its_arrays_together_is_refused(
    shape: tuple[int, int, int],
) -> None:
    frame = offset_fetch.encode_request(offsets_of(*shape), 8)
    with pytest.raises(ProtocolError, match="has more than"):
        offset_fetch.decode_request(frame, 8)


def test_a_fetch_of_twenty_thousand_topics_is_read() -> None:
    topic = fetch.FetchTopic(topic="t", partitions=[fetch.FetchPartition(partition=0)])
    request = fetch.FetchRequest(topics=[topic] * 20_000)
    assert fetch.decode_request(fetch.encode_request(request, 12), 12) == request


def test_null_arrays_do_not_extend_the_limit_of_others() -> None:
    group = offset_fetch.OffsetFetchRequestGroup(group_id="g", topics=None)
    many = offsets_of(1, 1, ELEMENTS_MAX - 20_000)
    frame = offset_fetch.encode_request(
        offset_fetch.OffsetFetchRequest(groups=[group] * 20_000 + list(many.groups)), 8
    )
    with pytest.raises(ProtocolError, match="has more than"):
        offset_fetch.decode_request(frame, 8)


def many_unknown_tags() -> bytearray:
    tags = bytearray()
    write_uvarint(tags, ELEMENTS_MAX + 1)
    return tags + b"\x63\x00" * (ELEMENTS_MAX + 1)


def test_a_request_with_too_many_unknown_tagged_fields_is_refused() -> None:
    frame = metadata.encode_request(metadata.MetadataRequest(topics=[]), 12)[:-1]
    with pytest.raises(ProtocolError, match="has more than"):
        metadata.decode_request(frame + many_unknown_tags(), 12)


def test_a_header_with_too_many_unknown_tagged_fields_is_refused() -> None:
    header = b"\x00\x03\x00\x0c\x00\x00\x00\x01\x00\x00"
    with pytest.raises(ProtocolError, match="has more than"):
        decode_request_header(header + many_unknown_tags())
