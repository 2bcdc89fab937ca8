"""A Produce that begins as the one before it on the same connection, which need not be read again.

A client that writes to a partition sends the same bytes before every batch, but for the correlation id. What they say
is remembered; the next request that has them is read by comparing them.
"""

import struct
from typing import Final

from penstock.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from penstock.protocol.produce_frame import NO_TAGS
from penstock.protocol.request_header import RequestHeader

_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_ID_POSITION: Final = 4
_HEAD_POSITION: Final = 8
_LENGTH_BYTE_MAX: Final = 0x7F


class ProduceHead:
    """What a request that `produce_frame.decode_one` has read has before the length of its batch, which is at `end`."""

    __slots__ = (
        "_acks",
        "_client_id",
        "_end",
        "_head",
        "_index",
        "_key_and_version",
        "_name",
        "_timeout_ms",
        "_topic_id",
        "_version",
    )

    def __init__(self, frame: bytearray, header: RequestHeader, request: ProduceRequest, end: int) -> None:
        topic = request.topic_data[0]
        self._key_and_version = bytes(frame[:_CORRELATION_ID_POSITION])
        self._head = bytes(frame[_HEAD_POSITION:end])
        self._end = end
        self._version = header.api_version
        self._client_id = header.client_id
        self._acks = request.acks
        self._timeout_ms = request.timeout_ms
        self._name = topic.name
        self._topic_id = topic.topic_id
        self._index = topic.partition_data[0].index

    def read(self, frame: bytearray) -> tuple[RequestHeader, ProduceRequest] | None:
        """The request in `frame`, if it begins in the same way and goes on with one batch."""
        end = self._end
        if (
            len(frame) <= end
            or frame[_HEAD_POSITION:end] != self._head
            or frame[:_CORRELATION_ID_POSITION] != self._key_and_version
            or frame[-len(NO_TAGS) :] != NO_TAGS
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
        header = RequestHeader(
            api_key=0,
            api_version=self._version,
            correlation_id=_CORRELATION_ID.unpack_from(frame, _CORRELATION_ID_POSITION)[0],
            client_id=self._client_id,
        )
        partition = PartitionProduceData(index=self._index, records=memoryview(frame)[begin:batch_end])
        topic = TopicProduceData(name=self._name, topic_id=self._topic_id, partition_data=[partition])
        return header, ProduceRequest(acks=self._acks, timeout_ms=self._timeout_ms, topic_data=[topic])
