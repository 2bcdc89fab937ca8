"""Publishing with bytes built beforehand, a module for each protocol, behind one protocol: `WireDialect`.

A thousand clients of the products' own libraries would measure themselves: each module only encodes one publish, and
counts acknowledgements in the received bytes.
"""

import importlib
import socket
from typing import Final, Protocol

from penstock_bench.peers.tasks import Dialect

CONNECT_TIMEOUT_S: Final = 60.0


class Refused(OSError):
    """The server sent something other than an acknowledgement, or closed the connection."""


class Acknowledgements(Protocol):
    """Counts the acknowledgements in the bytes of one connection."""

    def count(self, received: bytes) -> int:
        """Return how many acknowledgements these bytes complete. Raises `Refused` at any other answer."""


class WireDialect(Protocol):
    def open(self, address: tuple[str, int], number: int) -> socket.socket:
        """Open the `number`th connection, ready for publishes; it blocks."""

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:
        """Encode a publish for the `number`th connection. The same bytes can be sent repeatedly."""

    def acknowledgements(self, stream: str) -> Acknowledgements: ...


_WIRES: Final[dict[Dialect, tuple[str, str]]] = {
    "kafka": ("kafka", "KafkaWire"),
    "nats": ("nats", "NatsWire"),
    "redis": ("redis", "RedisWire"),
    "amqp": ("amqp", "AmqpWire"),
}


def wire_of(dialect: Dialect) -> WireDialect:
    """Return the encoder of that dialect. Only its own library is imported."""
    module, name = _WIRES[dialect]
    wire: WireDialect = getattr(importlib.import_module(f"{__name__}.{module}"), name)()
    return wire


def connect(address: tuple[str, int]) -> socket.socket:
    connection = socket.create_connection(address, CONNECT_TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection
