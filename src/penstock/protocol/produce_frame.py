"""A Produce of one batch to one partition, and its response: each is decoded or encoded in one step.

Clients that wait for each response send nothing else, and other clients send mostly this. The generated codec makes a
call for each part of a message, which takes a fifth of the total time of such a small request. It handles all other
messages, and malformed ones. Both codecs give the same messages and the same bytes.
"""

import functools
import struct
from typing import Final

from penstock.protocol.headers import encode_response_frame
from penstock.protocol.messages import produce
from penstock.protocol.messages.produce import (
    API_KEY,
    FLEXIBLE_FROM,
    VERSIONS,
    LeaderIdAndEpoch,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from penstock.protocol.wire import ZERO_UUID, Buffer

IDS_FROM: Final = 13  # topics are named by their ids (KIP-516)
_VERSIONS_END: Final = VERSIONS.stop
VARINT_BYTE_MAX: Final = 0x7F
ONE: Final = 2  # compact lengths are one more than what they count

_REQUEST: Final = struct.Struct(
    ">BhiB16sBi"
)  # transactional id, acks, timeout, topics; topic id, partitions; index
_REQUEST_HEAD: Final = struct.Struct(">BhiB")  # the same for versions with topic names
_PARTITION_HEAD: Final = struct.Struct(">Bi")
_NO_TAGS_BYTES: Final = 3  # zeros, of the partition, the topic and the request

# partitions; index, error, base offset, append time, start offset, no record errors, no message, no tags; no tags;
# throttle time, no tags
_ANSWER: Final = struct.Struct(">BihqqqBBBBiB")
_ANSWER_HEAD: Final = struct.Struct(">iiBB")  # size of the frame, correlation id, no tags; topics
_ANSWER_BYTES: Final = (
    _ANSWER_HEAD.size - 4 + _ANSWER.size
)  # without the size itself, and the topic's name or id
_NO_LEADER: Final = LeaderIdAndEpoch()


def decode_request(buf: memoryview, version: int, position: int) -> ProduceRequest:
    """The request whose body begins at `position`. Raises `ProtocolError`."""
    body, name, topic_id = position, "", ZERO_UUID
    try:
        if IDS_FROM <= version < _VERSIONS_END:
            transactional_id, acks, timeout_ms, topics, topic_id, partitions, index = _REQUEST.unpack_from(
                buf, position
            )
            position += _REQUEST.size
        elif FLEXIBLE_FROM <= version < IDS_FROM:
            transactional_id, acks, timeout_ms, topics = _REQUEST_HEAD.unpack_from(buf, position)
            position += _REQUEST_HEAD.size
            size = buf[position]
            name = str(buf[position + 1 : position + size], "utf-8")
            partitions, index = _PARTITION_HEAD.unpack_from(buf, position + size)
            position += size + _PARTITION_HEAD.size
            if not 0 < size <= VARINT_BYTE_MAX:
                topics = 0  # not the form that is decoded here
        else:
            return produce.decode_request(buf, version, body)
        size = buf[position]
        position += 1
        if size > VARINT_BYTE_MAX:  # two bytes; a larger batch is left to the generated codec
            size += (buf[position] << 7) - 0x80
            position += 1
        end = position + size - 1
        if (
            transactional_id == 0
            and topics == partitions == ONE
            and size > 0
            and buf[position - 1] <= VARINT_BYTE_MAX
            and len(buf) - end == _NO_TAGS_BYTES
            and not (buf[end] or buf[end + 1] or buf[end + 2])
        ):
            partition = PartitionProduceData(index=index, records=buf[position:end])
            topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=[partition])
            return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic])
    except (IndexError, ValueError, struct.error):
        pass
    return produce.decode_request(buf, version, body)


def encode_response(message: ProduceResponse | None, version: int, correlation_id: int) -> tuple[Buffer, ...]:
    """The whole frame of a response; empty if the client wants no acknowledgement. Raises `ProtocolError`."""
    if message is None:
        return ()
    try:
        (topic,) = message.responses
        (response,) = topic.partition_responses
        if (
            FLEXIBLE_FROM <= version < _VERSIONS_END
            and not message.node_endpoints
            and not response.error_code
            and not response.record_errors
            and response.error_message is None
            and response.current_leader == _NO_LEADER
        ):
            name = topic.topic_id if version >= IDS_FROM else _compact(topic.name)
            if version < IDS_FROM or len(name) == len(ZERO_UUID):  # else it is not a topic id
                return (
                    _ANSWER_HEAD.pack(_ANSWER_BYTES + len(name), correlation_id, 0, ONE)
                    + name
                    + _ANSWER.pack(
                        ONE,
                        response.index,
                        0,
                        response.base_offset,
                        response.log_append_time_ms,
                        response.log_start_offset,
                        1,
                        0,
                        0,
                        0,
                        message.throttle_time_ms,
                        0,
                    ),
                )
    except (ValueError, struct.error):  # not exactly one partition, or a value that does not fit
        pass
    return encode_response_frame(API_KEY, produce.encode_response_into, message, version, correlation_id)


@functools.lru_cache(maxsize=1024)  # responses name the same few topics again and again
def _compact(name: str) -> bytes:
    encoded = name.encode()
    if len(encoded) >= VARINT_BYTE_MAX:
        raise ValueError("its length takes more than a byte")
    return bytes((len(encoded) + 1,)) + encoded
