"""A Produce that begins as the one before it on the same connection, which need not be read again.

A client that writes to a partition sends the same bytes before every batch, but for the correlation id. What they say
is remembered; the next request that has them is read by comparing them, and answered as the last one was, but for the
offsets.
"""

import struct
from typing import Final

from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.protocol.produce_frame import ANSWER_OFFSETS, NO_TAGS, encode_answer
from penstock.protocol.request_header import RequestHeader

_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_ID_POSITION: Final = 4
_HEAD_POSITION: Final = 8
_LENGTH_BYTE_MAX: Final = 0x7F


class ProduceHead:
    """What a request that `produce_frame.decode_one` has read has before the length of its batch, which is at `end`."""

    __slots__ = (
        "_answer",
        "_answer_fixed",
        "_end",
        "_head",
        "_key_and_version",
        "acks",
        "client_id",
        "index",
        "name",
        "timeout_ms",
        "topic_id",
        "version",
    )

    def __init__(self, frame: bytearray, header: RequestHeader, request: ProduceRequest, end: int) -> None:
        topic = request.topic_data[0]
        self._key_and_version = bytes(frame[:_CORRELATION_ID_POSITION])
        self._head = bytes(frame[_HEAD_POSITION:end])
        self._end = end
        self.version = header.api_version
        self.client_id = header.client_id
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.name = topic.name
        """Empty where the version names topics by their ids."""
        self.topic_id = topic.topic_id
        self.index = topic.partition_data[0].index
        self._answer: struct.Struct | None = None
        self._answer_fixed: tuple[bytes, bytes, bytes]

    def records_in(self, frame: bytearray) -> memoryview | None:
        """The batch in `frame`, if that begins in the same way and goes on with nothing else."""
        end = self._end
        if (
            len(frame) <= end
            or not frame.startswith(self._head, _HEAD_POSITION)
            or not frame.startswith(self._key_and_version)
            or not frame.endswith(NO_TAGS)
        ):
            return None
        size = frame[end]
        begin = end + 1
        if size > _LENGTH_BYTE_MAX:
            high = frame[begin]
            begin += 1
            if high > _LENGTH_BYTE_MAX:
                return None  # of a batch of 16 KiB and more: beside it, reading all is nothing
            size += (high << 7) - 0x80
        batch_end = begin + size - 1
        if size == 0 or batch_end + len(NO_TAGS) != len(frame):
            return None
        return memoryview(frame)[begin:batch_end]

    def header(self, frame: bytearray) -> RequestHeader:
        """The header of a request that begins in the same way."""
        return RequestHeader(
            api_key=0,
            api_version=self.version,
            correlation_id=_CORRELATION_ID.unpack_from(frame, _CORRELATION_ID_POSITION)[0],
            client_id=self.client_id,
        )

    def request(self, records: memoryview) -> ProduceRequest:
        partition = PartitionProduceData(index=self.index, records=records)
        topic = TopicProduceData(name=self.name, topic_id=self.topic_id, partition_data=[partition])
        return ProduceRequest(acks=self.acks, timeout_ms=self.timeout_ms, topic_data=[topic])

    def answer(
        self, frame: bytearray, base_offset: int, log_append_time_ms: int, log_start_offset: int
    ) -> bytes:
        """The whole frame that tells the client where its batch is stored."""
        shape = self._answer or self._answer_shape()
        size, middle, end = self._answer_fixed
        correlation_id = frame[_CORRELATION_ID_POSITION:_HEAD_POSITION]
        return shape.pack(
            size, correlation_id, middle, base_offset, log_append_time_ms, log_start_offset, end
        )

    def _answer_shape(self) -> struct.Struct:
        """An answer like any other, with room for what differs from one to the next."""
        partition = PartitionProduceResponse(index=self.index)
        topic = TopicProduceResponse(name=self.name, topic_id=self.topic_id, partition_responses=[partition])
        example = encode_answer(ProduceResponse(responses=[topic]), self.version, 0)
        assert example is not None, "what decode_one has read is answered in one step"
        end_position = ANSWER_OFFSETS.stop
        middle, end = example[_HEAD_POSITION : ANSWER_OFFSETS.start], example[end_position:]
        self._answer_fixed = (example[:_CORRELATION_ID_POSITION], middle, end)
        self._answer = struct.Struct(f">4s4s{len(middle)}sqqq{len(end)}s")
        return self._answer
