"""AMQP 0-9-1: a persistent message to a queue through the default exchange, acknowledged with Basic.Ack.

pika encodes and decodes the frames. Acknowledgements are decoded here: decoding each with pika would take longer than
the broker takes.
"""

import socket
import struct
from typing import Any, Final

from pika import frame, spec

from penstock_bench.peers.wire import Refused, connect

_CHANNEL: Final = 1
_FRAME_BYTES_MAX: Final = 131072
_HEAD: Final = struct.Struct(">BHI")  # type, channel, size of the payload, which the octet 0xCE follows
_ACK: Final = struct.Struct(">HHQB")  # class, method, delivery tag, whether it stands for all before it, too
_PERSISTENT: Final = spec.BasicProperties(delivery_mode=2)

# Methods of the handshake with the answer to each, after the protocol header and Connection.Start.
_HANDSHAKE: Final = (
    (0, [spec.Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US")], spec.Connection.Tune),
    (
        0,
        [spec.Connection.TuneOk(_CHANNEL, _FRAME_BYTES_MAX, 0), spec.Connection.Open("/")],  # no heartbeats
        spec.Connection.OpenOk,
    ),
    (_CHANNEL, [spec.Channel.Open()], spec.Channel.OpenOk),
    (_CHANNEL, [spec.Confirm.Select()], spec.Confirm.SelectOk),
)


class AmqpWire:
    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        connection = connect(address)
        connection.sendall(frame.ProtocolHeader().marshal())
        _expect(connection, spec.Connection.Start)
        for channel, methods, answer in _HANDSHAKE:
            connection.sendall(b"".join(frame.Method(channel, each).marshal() for each in methods))
            _expect(connection, answer)
        return connection

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        frames = (
            frame.Method(_CHANNEL, spec.Basic.Publish(exchange="", routing_key=stream)),
            frame.Header(_CHANNEL, len(payload), _PERSISTENT),
            frame.Body(_CHANNEL, payload),
        )
        return b"".join(each.marshal() for each in frames)

    def acknowledgements(self, stream: str) -> "_Acknowledgements":  # noqa: ARG002 - all look alike
        return _Acknowledgements()


class _Acknowledgements:
    __slots__ = ("_last_tag", "_pending")

    def __init__(self) -> None:
        self._pending = b""
        self._last_tag = 0

    def count(self, received: bytes) -> int:
        unread = self._pending + received
        position = found = 0
        while len(unread) - position >= _HEAD.size + 1:
            _, _, size = _HEAD.unpack_from(unread, position)
            end = position + _HEAD.size + size + 1
            if end > len(unread):
                break
            if size != _ACK.size:
                raise Refused("the server sent something other than an acknowledgement")
            class_id, method_id, tag, is_multiple = _ACK.unpack_from(unread, position + _HEAD.size)
            if (class_id, method_id) != (60, 80):
                raise Refused(f"the server answered a publish with method {class_id}.{method_id}")
            found += tag - self._last_tag if is_multiple else 1
            self._last_tag = max(self._last_tag, tag)
            position = end
        self._pending = unread[position:]
        return found


def _expect(connection: socket.socket, method: Any) -> None:
    """Read one frame, and raise unless it is that method."""
    head = _receive(connection, _HEAD.size)
    _, answer = frame.decode_frame(head + _receive(connection, _HEAD.unpack(head)[2] + 1))
    if not isinstance(getattr(answer, "method", None), method):
        raise Refused(f"the server did not answer with {method.NAME}")


def _receive(connection: socket.socket, size: int) -> bytes:
    received = connection.recv(size, socket.MSG_WAITALL)
    if len(received) < size:
        raise Refused("the server closed the connection")
    return received
