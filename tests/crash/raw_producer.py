"""A plain producer: one socket, one request at a time, no retries.

An acknowledged record must be in the log at its reported offset; an unacknowledged one may be there once
or not at all.
"""

import socket
import struct
import threading

from penstock.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
    decode_response,
    encode_request,
)
from penstock.protocol.records.builder import NewRecord, build_batch

_PRODUCE_KEY = 0
_PRODUCE_VERSION = 8  # the last before flexible headers: the simplest frame that still carries everything
_HEADER = struct.Struct(">hhih")
_TIMEOUT_S = 10.0


class RawProducer(threading.Thread):
    """Sends numbered records until it is stopped, and reconnects whenever the broker is down."""

    def __init__(self, port: int, topic: str, partition: int, records_per_batch: int) -> None:
        super().__init__(daemon=True, name=f"raw-producer-{partition}")
        self.acknowledged: dict[int, bytes] = {}  # by offset
        self.unknown: list[bytes] = []  # sent, never answered
        self.refused: list[int] = []  # error codes
        self.enough = threading.Event()
        self._port = port
        self._topic = topic
        self._partition = partition
        self._records_per_batch = records_per_batch
        self._number = 0

    @property
    def done_count(self) -> int:
        return len(self.acknowledged)

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_S) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    while not self.enough.is_set():
                        self._send_one_batch(connection)
            except OSError:
                self.enough.wait(0.02)  # the broker is down; there is no event for its return

    def _send_one_batch(self, connection: socket.socket) -> None:
        values = [b"%d-%d" % (self._partition, self._number + n) for n in range(self._records_per_batch)]
        self._number += len(values)
        batch = build_batch(NewRecord(value=value, timestamp=1_700_000_000_000) for value in values)
        request = ProduceRequest(
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                TopicProduceData(
                    name=self._topic,
                    partition_data=[PartitionProduceData(index=self._partition, records=memoryview(batch))],
                )
            ],
        )
        frame = _HEADER.pack(_PRODUCE_KEY, _PRODUCE_VERSION, 1, -1)
        frame += encode_request(request, _PRODUCE_VERSION)
        try:
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", _receive(connection, 4))
            answer = _receive(connection, size)
        except OSError:
            self.unknown += values
            raise
        response = decode_response(memoryview(answer)[4:], _PRODUCE_VERSION)
        result = response.responses[0].partition_responses[0]
        if result.error_code:
            self.refused.append(result.error_code)
            self.unknown += values
            self.enough.wait(0.02)
            return
        self.acknowledged |= {result.base_offset + n: value for n, value in enumerate(values)}


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = connection.recv(size - len(received))
        if not piece:
            raise ConnectionResetError("the broker closed the connection")
        received += piece
    return bytes(received)
