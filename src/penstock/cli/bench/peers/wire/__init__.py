"""Publishing with bytes built beforehand, one module for each protocol; each keeps `WireDialect` of this package."""

import socket
from typing import Final, Protocol

from penstock.cli.bench.peers.tasks import Dialect

CONNECT_TIMEOUT_S: Final = 60.0


class Refused(OSError):
    """The server answered something other than an acknowledgement, or closed the connection."""


class Acknowledgements(Protocol):
    """Counts the acknowledgements of one connection in what came from it."""

    def count(self, received: bytes) -> int:
        """How many more there are; raises `Refused` at any other answer."""


class WireDialect(Protocol):
    def open(self, address: tuple[str, int], number: int) -> socket.socket:
        """A connection, the `number`th, that publishes can be sent on at once; it blocks."""

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:
        """What the `number`th connection publishes; the same bytes can be sent any number of times."""

    def acknowledgements(self, stream: str) -> Acknowledgements: ...


def wire_of(dialect: Dialect) -> WireDialect:
    from penstock.cli.bench.peers.wire.amqp import AmqpWire
    from penstock.cli.bench.peers.wire.kafka import KafkaWire
    from penstock.cli.bench.peers.wire.nats import NatsWire
    from penstock.cli.bench.peers.wire.redis import RedisWire

    made: dict[Dialect, WireDialect] = {
        "kafka": KafkaWire(),
        "nats": NatsWire(),
        "redis": RedisWire(),
        "amqp": AmqpWire(),
    }
    return made[dialect]


def connect(address: tuple[str, int]) -> socket.socket:
    connection = socket.create_connection(address, CONNECT_TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
