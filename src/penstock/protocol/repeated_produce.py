"""A Produce of one batch to one partition, read in one step; one that begins as the one before is not even read.

A client that writes to a partition sends the same bytes before every batch, but for the correlation id. What they say
is remembered; the next request that has them is read by comparing them, and answered as the last one was, but for the
offsets. Requests of another form, and every complaint, are left to the generated codec.
"""

import struct
from typing import Final

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from penstock.protocol.produce_frame import (
    ANSWER_OFFSETS,
    IDS_FROM,
    ONE,
    ONE_STEP,
    VARINT_BYTE_MAX,
    encode_answer,
)
from penstock.protocol.request_header import RequestHeader
from penstock.protocol.wire import ZERO_UUID, read_uvarint

_CORRELATION_ID: Final = struct.Struct(">i")
_CORRELATION_ID_POSITION: Final = 4
_HEAD_POSITION: Final = 8
_REQUEST_HEAD: Final = struct.Struct(">BhiB")  # transactional id, acks, timeout, topics
_PARTITION_HEAD: Final = struct.Struct(">Bi")  # partitions, index
_NO_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request


class ProduceHead:
    """What a request has before the length of its batch, which is at `end`."""

    __slots__ = (
        "_answer",
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

    def __init__(
        self,
        frame: bytearray,
        header: RequestHeader,
        *,
        acks: int,
        timeout_ms: int,
        name: str,
        topic_id: bytes,
        index: int,
        end: int,
    ) -> None:
        self._key_and_version = bytes(frame[:_CORRELATION_ID_POSITION])
        self._head = bytes(frame[_HEAD_POSITION:end])
        self._end = end
        self._answer: _Answer | None = None
        self.version = header.api_version
        self.client_id = header.client_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.name = name
        """Empty where the version names topics by their ids."""
        self.topic_id = topic_id
        self.index = index

    def records_in(self, frame: bytearray) -> memoryview | None:
        """The batch in `frame`, if that begins in the same way and goes on with nothing else."""
        end = self._end
        if (
            len(frame) <= end
            or not frame.startswith(self._head, _HEAD_POSITION)
            or not frame.startswith(self._key_and_version)
            or not frame.endswith(_NO_TAGS)
        ):
            return None
        size = frame[end]
        begin = end + 1
        if size > VARINT_BYTE_MAX:
            high = frame[begin]
            begin += 1
            if high > VARINT_BYTE_MAX:
                return None  # of a batch of 16 KiB and more: beside it, reading all is nothing
            size += (high << 7) - 0x80
        batch_end = begin + size - 1
        if size == 0 or batch_end + len(_NO_TAGS) != len(frame):
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

    def response(self, partition: PartitionProduceResponse) -> ProduceResponse:
        topic = TopicProduceResponse(name=self.name, topic_id=self.topic_id, partition_responses=[partition])
        return ProduceResponse(responses=[topic])

    def answer(
        self, frame: bytearray, base_offset: int, log_append_time_ms: int, log_start_offset: int
    ) -> bytes:
        """The whole frame that tells the client where its batch is stored."""
        answer = self._answer
        if answer is None:
            answer = self._answer = _Answer(self)
        return answer.shape.pack(
            answer.size,
            frame[_CORRELATION_ID_POSITION:_HEAD_POSITION],
            answer.middle,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            answer.end,
        )


class _Answer:
    """An answer like any other, with room for what differs from one to the next."""

    __slots__ = ("end", "middle", "shape", "size")

    def __init__(self, head: ProduceHead) -> None:
        example = encode_answer(head.response(PartitionProduceResponse(index=head.index)), head.version, 0)
        assert example is not None, "what is read in one step is answered in one"
        self.size = example[:_CORRELATION_ID_POSITION]
        self.middle = example[_HEAD_POSITION : ANSWER_OFFSETS.start]
        self.end = example[ANSWER_OFFSETS.stop :]
        self.shape = struct.Struct(f">4s4s{len(self.middle)}sqqq{len(self.end)}s")


def read_head(
    frame: bytearray, header: RequestHeader, position: int
) -> tuple[ProduceHead, memoryview] | None:
    """What is before the batch of a request whose header ends at `position`, and the batch; None if it is of another
    form.
    """
    try:
        return _read_head(frame, header, position) if header.api_version in ONE_STEP else None
    except (IndexError, ValueError, struct.error, ProtocolError):
        return None


def _read_head(
    frame: bytearray, header: RequestHeader, position: int
) -> tuple[ProduceHead, memoryview] | None:
    transactional_id_size, acks, timeout_ms, topics = _REQUEST_HEAD.unpack_from(frame, position)
    if transactional_id_size != 0 or topics != ONE:
        return None
    position += _REQUEST_HEAD.size
    name, topic_id = "", ZERO_UUID
    if header.api_version >= IDS_FROM:
        topic_id = bytes(frame[position : position + 16])
        position += 16
    else:
        size = frame[position]
        if not 0 < size <= VARINT_BYTE_MAX:
            return None
        name = str(frame[position + 1 : position + size], "utf-8")
        position += size
    partitions, index = _PARTITION_HEAD.unpack_from(frame, position)
    if partitions != ONE:
        return None
    end = position + _PARTITION_HEAD.size
    view = memoryview(frame)
    size, begin = read_uvarint(view, end)
    batch_end = begin + size - 1
    if size == 0 or len(frame) - batch_end != len(_NO_TAGS) or not frame.endswith(_NO_TAGS):
        return None
    head = ProduceHead(
        frame,
        header,
        acks=acks,
        timeout_ms=timeout_ms,
        name=name,
        topic_id=topic_id,
        index=index,
        end=end,
    )
    return head, view[begin:batch_end]
