"""Kafka's protocol: a Produce request of one batch with one message, `acks=all`."""

import socket

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_bench import frames
from penstock_bench.peers.wire import Refused, connect


class KafkaWire:
    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        return connect(address)

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        return frames.produce_frame(stream, [partition], build_batch([NewRecord(value=payload)]))

    def acknowledgements(self, stream: str) -> "_Acknowledgements":
        return _Acknowledgements(frames.AnswerShape(stream))


class _Acknowledgements:
    """All successful responses have one length."""

    __slots__ = ("_received_bytes", "_shape")

    def __init__(self, shape: frames.AnswerShape) -> None:
        self._shape = shape
        self._received_bytes = 0

    def count(self, received: bytes) -> int:
        size = self._shape.size_bytes
        skip = self._received_bytes % size
        if not self._shape.is_good(memoryview(received), skip):
            raise Refused("a produce request was refused")
        self._received_bytes += len(received)
        return (skip + len(received)) // size
