"""The answer to a Produce of one batch to one partition, written in one step.

That is what a client sends that waits for each answer, and most of what any client sends. The generated codec takes a
call for each part of a message, which is a sixth of all the work on so small a request. Every answer of another form is
left to it, and every complaint.
"""

import functools
import struct
from typing import Final

from penstock.protocol.messages.produce import FLEXIBLE_FROM, VERSIONS, LeaderIdAndEpoch, ProduceResponse
from penstock.protocol.wire import ZERO_UUID

ONE_STEP: Final = range(FLEXIBLE_FROM, VERSIONS.stop)
IDS_FROM: Final = 13  # topics are named by their ids (KIP-516)
VARINT_BYTE_MAX: Final = 0x7F
ONE: Final = 2  # compact lengths are one more than what they count

# partitions; index, error, base offset, append time, start offset, no record errors, no message, no tags; no tags;
# throttle time, no tags
_ANSWER: Final = struct.Struct(">BihqqqBBBBiB")
_OFFSETS_POSITION: Final = struct.calcsize(">Bih")
ANSWER_OFFSETS: Final = slice(_OFFSETS_POSITION - _ANSWER.size, _OFFSETS_POSITION - _ANSWER.size + 3 * 8)
"""Where, from the end of an answer, base offset, append time and start offset stand."""
_ANSWER_HEAD: Final = struct.Struct(">iiBB")  # size of the frame, correlation id, no tags; topics
_ANSWER_BYTES: Final = (
    _ANSWER_HEAD.size - 4 + _ANSWER.size
)  # without the size itself, and the topic's name or id
_NO_LEADER: Final = LeaderIdAndEpoch()


def encode_answer(message: ProduceResponse, version: int, correlation_id: int) -> bytes | None:
    """The whole frame with which a request for one batch is answered; None for every other answer."""
    if version not in ONE_STEP or len(message.responses) != 1 or message.node_endpoints:
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
        name = _id(topic.topic_id) if version >= IDS_FROM else _compact(topic.name)
        return (
            _ANSWER_HEAD.pack(_ANSWER_BYTES + len(name), correlation_id, 0, ONE)
            + name
            + _ANSWER.pack(
                ONE,
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
    if len(encoded) >= VARINT_BYTE_MAX:
        raise ValueError("its length takes more than a byte")
    return bytes((len(encoded) + 1,)) + encoded
