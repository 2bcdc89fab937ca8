"""Produce of one batch to one partition, read in one step and answered in one.

That is what a client sends that waits for each answer, and most of what any client sends. The generated codec takes a
call for each part of a message, which is a sixth of all the work on so small a request. These two functions stand in
for its `decode_request` and `encode_response_into`, and leave to it every message of another form, and every complaint.
"""

import struct
from typing import Final

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import produce as generated
from penstock.protocol.messages.produce import (
    FLEXIBLE_FROM,
    VERSIONS,
    LeaderIdAndEpoch,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.wire import ZERO_UUID, Buffer, read_uvarint

_ONE_STEP: Final = range(FLEXIBLE_FROM, VERSIONS.stop)
_IDS_FROM: Final = 13  # topics are named by their ids (KIP-516)
_VARINT_BYTE_MAX: Final = 0x7F
_ONE: Final = 2  # compact lengths are one more than what they count
_NO_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request

_REQUEST_HEAD: Final = struct.Struct(">BhiB")  # transactional id, acks, timeout, topics
_PARTITION_HEAD: Final = struct.Struct(">Bi")  # partitions, index
# partitions; index, error, base offset, append time, start offset, no record errors, no message, no tags; no tags;
# throttle time, no tags
_ANSWER: Final = struct.Struct(">BihqqqBBBBiB")
_HEAD_BY_ID: Final = bytes((_ONE,))
_NO_LEADER: Final = LeaderIdAndEpoch()


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ProduceRequest:
    if version in _ONE_STEP:
        try:
            request = _decode_one(memoryview(buf), version, pos)
        except (IndexError, ValueError, struct.error, ProtocolError):
            request = None
        if request is not None:
            return request
    return generated.decode_request(buf, version, pos)


def _decode_one(buf: memoryview, version: int, pos: int) -> ProduceRequest | None:
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
    size, pos = read_uvarint(buf, pos + _PARTITION_HEAD.size)
    end = pos + size - 1
    if size == 0 or len(buf) - end != len(_NO_TAGS) or bytes(buf[end:]) != _NO_TAGS:
        return None
    partition = PartitionProduceData(index=index, records=buf[pos:end])
    topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=[partition])
    return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic])


def encode_response_into(out: bytearray, message: ProduceResponse, version: int) -> None:
    if version in _ONE_STEP:
        try:
            encoded = _encode_one(message, version)
        except (ValueError, struct.error):
            encoded = None
        if encoded is not None:
            out += encoded
            return
    generated.encode_response_into(out, message, version)


def _encode_one(message: ProduceResponse, version: int) -> bytes | None:
    if len(message.responses) != 1 or message.node_endpoints:
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
    if version >= _IDS_FROM:
        name, head = topic.topic_id, _HEAD_BY_ID
        is_usual = len(name) == len(ZERO_UUID)
    else:
        name = topic.name.encode()
        is_usual = len(name) < _VARINT_BYTE_MAX
        head = bytes((_ONE, len(name) + 1)) if is_usual else b""
    if not is_usual:
        return None
    return (
        head
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
