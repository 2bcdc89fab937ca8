"""AMQP 0-9-1: a persistent message to a queue through the default exchange, acknowledged with Basic.Ack.

A frame is type (1), channel (2), size (4), payload, and the octet 0xCE. A method's payload starts with its class (2)
and number (2). A publish is three frames: Basic.Publish, the content's header, the content.
"""

import socket
import struct
from typing import Final

from penstock.cli.bench.peers.wire import Refused, connect

_METHOD, _HEADER, _BODY = 1, 2, 3
_FRAME_END: Final = b"\xce"
_CHANNEL: Final = 1
_FRAME_BYTES_MAX: Final = 131072
_HEAD: Final = struct.Struct(">BHI")
_ACK: Final = struct.Struct(">HHQB")  # class, method, delivery tag, whether it stands for all before it, too
_DELIVERY_MODE_GIVEN: Final = 0x1000
_PERSISTENT: Final = 2


class AmqpWire:
    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        connection = connect(address)
        connection.sendall(b"AMQP\x00\x00\x09\x01")
        for sent, expected in (
            (b"", (10, 10)),  # Connection.Start
            (
                _method(
                    0, 10, 11, _long(b"") + _short(b"PLAIN") + _long(b"\0guest\0guest") + _short(b"en_US")
                ),
                (10, 30),
            ),
            (
                _method(
                    0, 10, 31, struct.pack(">HIH", _CHANNEL, _FRAME_BYTES_MAX, 0)
                )  # TuneOk, without heartbeats
                + _method(0, 10, 40, _short(b"/") + _short(b"") + b"\0"),  # Open
                (10, 41),
            ),
            (_method(_CHANNEL, 20, 10, _short(b"")), (20, 11)),  # Channel.Open
            (_method(_CHANNEL, 85, 10, b"\0"), (85, 11)),  # Confirm.Select
        ):
            connection.sendall(sent)
            _expect(connection, expected)
        return connection

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        publish = _method(_CHANNEL, 60, 40, b"\0\0" + _short(b"") + _short(stream.encode()) + b"\0")
        header = struct.pack(">HHQHB", 60, 0, len(payload), _DELIVERY_MODE_GIVEN, _PERSISTENT)
        return publish + _frame(_HEADER, _CHANNEL, header) + _frame(_BODY, _CHANNEL, payload)

    def acknowledgements(self, stream: str) -> "_Acknowledgements":  # noqa: ARG002 - all look alike
        return _Acknowledgements()


class _Acknowledgements:
    __slots__ = ("_last_tag", "_pending")

    def __init__(self) -> None:
        self._pending = b""
        self._last_tag = 0

    def count(self, received: bytes) -> int:
        told = self._pending + received
        position = found = 0
        while len(told) - position >= _HEAD.size + 1:
            _, _, size = _HEAD.unpack_from(told, position)
            end = position + _HEAD.size + size + 1
            if end > len(told):
                break
            if size != _ACK.size:
                raise Refused("the server sent something other than an acknowledgement")
            class_id, method_id, tag, is_multiple = _ACK.unpack_from(told, position + _HEAD.size)
            if (class_id, method_id) != (60, 80):
                raise Refused(f"the server answered a publish with method {class_id}.{method_id}")
            found += tag - self._last_tag if is_multiple else 1
            self._last_tag = max(self._last_tag, tag)
            position = end
        self._pending = told[position:]
        return found


def _frame(kind: int, channel: int, payload: bytes) -> bytes:
    return _HEAD.pack(kind, channel, len(payload)) + payload + _FRAME_END


def _method(channel: int, class_id: int, method_id: int, arguments: bytes) -> bytes:
    return _frame(_METHOD, channel, struct.pack(">HH", class_id, method_id) + arguments)


def _short(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def _long(text: bytes) -> bytes:
    """A long string, or a table, whose form is the same when it is empty."""
    return struct.pack(">I", len(text)) + text


def _expect(connection: socket.socket, expected: tuple[int, int]) -> None:
    head = _receive(connection, _HEAD.size)
    _, _, size = _HEAD.unpack(head)
    payload = _receive(connection, size + 1)
    if struct.unpack_from(">HH", payload) != expected:
        raise Refused(f"the server did not answer with method {expected}")


def _receive(connection: socket.socket, size: int) -> bytes:
    received = connection.recv(size, socket.MSG_WAITALL)
    if len(received) < size:
        raise Refused("the server closed the connection")
    return received
