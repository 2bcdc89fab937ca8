"""Publishing with bytes built beforehand, a class for each protocol.

A thousand clients of the products' own libraries would measure themselves: each class only encodes one publish, and
counts acknowledgements in the received bytes.
"""

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any, Final

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_bench import frames
from penstock_bench.frames import UnexpectedAnswer
from penstock_bench.load_generator import Counter, LoadGenerator, Pipe
from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.raw_client import connect

_AMQP_CHANNEL: Final = 1
_AMQP_FRAME_BYTES_MAX: Final = 131072
_AMQP_HEAD: Final = struct.Struct(">BHI")  # type, channel, size of the payload, which the octet 0xCE follows
_AMQP_ACK: Final = struct.Struct(
    ">HHQB"
)  # class, method, delivery tag, whether it stands for all before it, too


class KafkaWire:
    """A Produce request of one batch with one message, `acks=all`. Also the base of the others."""

    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        """Open the `number`th connection, ready for publishes; it blocks."""
        return connect(address)

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        """Encode a publish for the `number`th connection. The same bytes can be sent repeatedly."""
        return frames.produce_frame(stream, [partition], build_batch([NewRecord(value=payload)]))

    def counter(self, stream: str) -> Counter:
        return frames.AnswerCounter(stream)


class RedisWire(KafkaWire):
    """RESP2: XADD, answered with the new entry's id as a bulk string, like `$15`, `1700000000000-0`."""

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        words = (b"XADD", stream.encode(), b"*", b"v", payload)
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    def counter(self, stream: str) -> Counter:  # noqa: ARG002 - all look alike
        return _RedisCounter()


class _RedisCounter:
    """An id holds digits and a dash, so that each `$` is one answer."""

    def __init__(self) -> None:
        self._last = b"\n"

    def count(self, received: memoryview) -> int:
        unread = bytes(received)
        if b"\n-" in self._last + unread:  # a line that begins with a dash is an error
            raise UnexpectedAnswer(unread.decode(errors="replace").strip())
        self._last = unread[-1:] or self._last
        return unread.count(b"$")


class NatsWire(KafkaWire):
    """PUB with a reply subject, acknowledged by JetStream with a MSG on that subject.

    The server's own PINGs are not answered: it closes such a connection only after minutes.
    """

    def open(self, address: tuple[str, int], number: int) -> socket.socket:
        connection = connect(address)
        options = {"verbose": False, "pedantic": False, "lang": "bench", "version": "1", "protocol": 1}
        hello = f"CONNECT {json.dumps(options)}\r\nSUB {_inbox(number)} 1\r\nPING\r\n"
        connection.sendall(hello.encode())
        received = b""
        while b"PONG\r\n" not in received:  # INFO comes first
            piece = connection.recv(4096)
            if not piece or b"-ERR" in received:
                raise UnexpectedAnswer(received.decode(errors="replace"))
            received += piece
        return connection

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        return f"PUB {stream} {_inbox(number)} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def counter(self, stream: str) -> Counter:  # noqa: ARG002 - all look alike
        return _NatsCounter()


def _inbox(number: int) -> str:
    """Return the subject of the acknowledgements of one connection."""
    return f"_INBOX.bench.{number}"


class _NatsCounter:
    """Each acknowledgement has `MSG` once, which may be split between two chunks."""

    def __init__(self) -> None:
        self._tail = b""

    def count(self, received: memoryview) -> int:
        unread = self._tail + received
        if b'"error"' in unread or b"-ERR" in unread:
            raise UnexpectedAnswer(unread.decode(errors="replace").strip())
        self._tail = unread[-3:]
        return unread.count(b"MSG ")


class AmqpWire(KafkaWire):
    """AMQP 0-9-1: a persistent message to a queue through the default exchange, acknowledged with Basic.Ack.

    pika encodes the frames and decodes those of the handshake; decoding each acknowledgement with pika would take
    longer than the broker takes.
    """

    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        from pika import frame
        from pika.spec import Channel, Confirm, Connection

        connection = connect(address)
        connection.sendall(frame.ProtocolHeader().marshal())
        _expect(connection, Connection.Start)
        tune = Connection.TuneOk(_AMQP_CHANNEL, _AMQP_FRAME_BYTES_MAX, 0)  # no heartbeats
        for channel, methods, response in (
            (0, [Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US")], Connection.Tune),
            (0, [tune, Connection.Open("/")], Connection.OpenOk),
            (_AMQP_CHANNEL, [Channel.Open()], Channel.OpenOk),
            (_AMQP_CHANNEL, [Confirm.Select()], Confirm.SelectOk),
        ):
            connection.sendall(b"".join(frame.Method(channel, each).marshal() for each in methods))
            _expect(connection, response)
        return connection

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        from pika import frame, spec

        parts = (
            frame.Method(_AMQP_CHANNEL, spec.Basic.Publish(exchange="", routing_key=stream)),
            frame.Header(_AMQP_CHANNEL, len(payload), spec.BasicProperties(delivery_mode=2)),
            frame.Body(_AMQP_CHANNEL, payload),
        )
        return b"".join(each.marshal() for each in parts)

    def counter(self, stream: str) -> Counter:  # noqa: ARG002 - all look alike
        return _AmqpCounter()


class _AmqpCounter:
    def __init__(self) -> None:
        self._pending = b""
        self._last_tag = 0

    def count(self, received: memoryview) -> int:
        unread = self._pending + received
        position = found = 0
        while len(unread) - position >= _AMQP_HEAD.size + 1:
            _, _, size = _AMQP_HEAD.unpack_from(unread, position)
            end = position + _AMQP_HEAD.size + size + 1
            if end > len(unread):
                break
            if size != _AMQP_ACK.size:
                raise UnexpectedAnswer("the server sent something other than an acknowledgement")
            class_id, method_id, tag, is_multiple = _AMQP_ACK.unpack_from(unread, position + _AMQP_HEAD.size)
            if (class_id, method_id) != (60, 80):
                raise UnexpectedAnswer(f"the server answered a publish with method {class_id}.{method_id}")
            found += tag - self._last_tag if is_multiple else 1
            self._last_tag = max(self._last_tag, tag)
            position = end
        self._pending = unread[position:]
        return found


def _expect(connection: socket.socket, method: Any) -> None:
    """Read one frame, and raise unless it is that method."""
    from pika import frame

    head = _receive(connection, _AMQP_HEAD.size)
    _, response = frame.decode_frame(head + _receive(connection, _AMQP_HEAD.unpack(head)[2] + 1))
    if not isinstance(getattr(response, "method", None), method):
        raise UnexpectedAnswer(f"the server did not answer with {method.NAME}")


def _receive(connection: socket.socket, size: int) -> bytes:
    received = connection.recv(size, socket.MSG_WAITALL)
    if len(received) < size:
        raise UnexpectedAnswer("the server closed the connection")
    return received


WIRES: Final[dict[Dialect, KafkaWire]] = {
    "kafka": KafkaWire(),
    "nats": NatsWire(),
    "redis": RedisWire(),
    "amqp": AmqpWire(),
}


def wire_load(places: Sequence[Where], message_bytes: int = 100) -> LoadGenerator:
    """Open a connection for each place. Its messages go round-robin to the partitions of the place."""
    wire = WIRES[places[0].dialect]
    payload = b"x" * message_bytes
    pipes: list[Pipe] = []
    try:
        for number, where in enumerate(places):
            publishes = [
                wire.publish_frame(where.stream, payload, partition=each, number=number)
                for each in where.published_partitions
            ]
            connection = wire.open((where.host, where.port), number)
            pipes.append(Pipe(connection, publishes, wire.counter(where.stream)))
    except BaseException:
        LoadGenerator(pipes).close()
        raise
    return LoadGenerator(pipes)
