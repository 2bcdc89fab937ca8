"""Produce of one batch to one partition, read in one step and answered in one.

That is what a client sends that waits for each answer, and most of what any client sends. The generated codec takes a
call for each part of a message, which is a sixth of all the work on so small a request. These two functions leave to
it every message of another form, and every complaint.
"""

import functools
import struct
from typing import Final

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.produce import (
    FLEXIBLE_FROM,
    VERSIONS,
    LeaderIdAndEpoch,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.wire import ZERO_UUID, read_uvarint

_ONE_STEP: Final = range(FLEXIBLE_FROM, VERSIONS.stop)
_IDS_FROM: Final = 13  # topics are named by their ids (KIP-516)
_VARINT_BYTE_MAX: Final = 0x7F
_ONE: Final = 2  # compact lengths are one more than what they count
NO_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request

_REQUEST_HEAD: Final = struct.Struct(">BhiB")  # transactional id, acks, timeout, topics
_PARTITION_HEAD: Final = struct.Struct(">Bi")  # partitions, index
# partitions; index, error, base offset, append time, start offset, no record errors, no message, no tags; no tags;
# throttle time, no tags
_ANSWER: Final = struct.Struct(">BihqqqBBBBiB")
ANSWER_OFFSETS: Final = slice(-33, -9)
"""Where, from the end of an answer, base offset, append time and start offset stand."""
_ANSWER_HEAD: Final = struct.Struct(">iiBB")  # size of the frame, correlation id, no tags; topics
_ANSWER_BYTES: Final = (
    _ANSWER_HEAD.size - 4 + _ANSWER.size
)  # without the size itself, and the topic's name or id
_NO_LEADER: Final = LeaderIdAndEpoch()


def decode_one(buf: memoryview, version: int, pos: int) -> tuple[ProduceRequest, int] | None:
    """A request for one batch, and where the length of the batch stands; None for every other request."""
    try:
        return _decode_one(buf, version, pos) if version in _ONE_STEP else None
    except (IndexError, ValueError, struct.error, ProtocolError):
        return None


def _decode_one(buf: memoryview, version: int, pos: int) -> tuple[ProduceRequest, int] | None:
    transactional_id_size, acks, timeout_ms, topics = _REQUEST_HEAD.unpack_from(buf, pos)
    if transactional_id_size != 0 or topics != _ONE:
        return None
    pos += _REQUEST_HEAD.size
    name, topic_id = "", ZERO_UUID
    if version >= _IDS_FROM:
        topic_id = bytes(buf[pos : pos + 16])
        pos += 16
    else:
        size = buf[pos]
        if not 0 < size <= _VARINT_BYTE_MAX:
            return None
        name = str(buf[pos + 1 : pos + size], "utf-8")
        pos += size
    partitions, index = _PARTITION_HEAD.unpack_from(buf, pos)
    if partitions != _ONE:
        return None
    length_position = pos + _PARTITION_HEAD.size
    size, pos = read_uvarint(buf, length_position)
    end = pos + size - 1
    if size == 0 or len(buf) - end != len(NO_TAGS) or bytes(buf[end:]) != NO_TAGS:
        return None
    partition = PartitionProduceData(index=index, records=buf[pos:end])
    topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic]), length_position


def encode_answer(message: ProduceResponse, version: int, correlation_id: int) -> bytes | None:
    """The whole frame with which a request for one batch is answered; None for every other answer."""
    if version not in _ONE_STEP or len(message.responses) != 1 or message.node_endpoints:
        return None
    topic = message.responses[0]
    if len(topic.partition_responses) != 1:
        return None
    answer = topic.partition_responses[0]
    if (
        answer.error_code
        or answer.record_errors
        or answer.error_message is not None
        or answer.current_leader != _NO_LEADER
    ):
        return None
    try:
        name = _id(topic.topic_id) if version >= _IDS_FROM else _compact(topic.name)
        return (
            _ANSWER_HEAD.pack(_ANSWER_BYTES + len(name), correlation_id, 0, _ONE)
            + name
            + _ANSWER.pack(
                _ONE,
                answer.index,
                0,
                answer.base_offset,
                answer.log_append_time_ms,
                answer.log_start_offset,
                1,
                0,
                0,
                0,
                message.throttle_time_ms,
                0,
            )
        )
    except (ValueError, struct.error):
        return None


def _id(topic_id: bytes) -> bytes:
    if len(topic_id) != len(ZERO_UUID):
        raise ValueError("this is no topic's id")
    return topic_id


@functools.lru_cache(maxsize=1024)  # it is the same few topics that are answered for
def _compact(name: str) -> bytes:
    encoded = name.encode()
    if len(encoded) >= _VARINT_BYTE_MAX:
        raise ValueError("its length takes more than a byte")
    return bytes((len(encoded) + 1,)) + encoded
