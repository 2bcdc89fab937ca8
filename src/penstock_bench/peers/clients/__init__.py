"""The clients of all products, a module each, behind one interface: `Client`."""

import importlib
import importlib.metadata
import struct
from collections.abc import Iterator
from typing import Final, Protocol

from penstock.distribution import pip_install
from penstock_bench.peers.tasks import Dialect, Where

ANSWER_WITHIN_S: Final = 60.0


class NotDelivered(Exception):
    """A message was rejected, or not acknowledged or received in time."""


_STAMP: Final = struct.Struct(
    "<q"
)  # nanoseconds of the monotonic clock, which all processes of a machine share


def stamped(due_s: float, size_bytes: int) -> bytes:
    """Return a message that carries the time at which it was due, so that the receiver can compute the latency."""
    return _STAMP.pack(int(due_s * 1e9)).ljust(size_bytes, b"x")


def due_s(payload: bytes) -> float:
    return float(_STAMP.unpack_from(payload)[0]) / 1e9


class Client(Protocol):
    """The operations that workloads need. All of them block; each client runs one task."""

    where: Where
    _addresses: list[str]  # the first is used
    _answer_within_s: float

    def __init__(self, where: Where) -> None:
        self.where = where
        self._addresses = list(where.addresses)
        self._answer_within_s = ANSWER_WITHIN_S

    def create(self) -> None:
        """Create the stream, and wait until it is ready for publishing."""

    def remove(self) -> None:
        """Delete the stream."""

    def first(self) -> None:
        """Connect, create the stream if it does not exist, and publish one message. Raises when that fails."""

    def open_publisher(self, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        """Connect before the clock starts. A publish that is not acknowledged in time fails, except with redis-py and
        pika, which wait as long as their connection lasts.
        """
        self._answer_within_s = answer_within_s
        self._connect_publisher()

    def _connect_publisher(self) -> None: ...

    def reopen_publisher(self) -> None:
        """Prepare for the next publish after a failure, at another node where the client does not find it itself."""
        self._addresses = [*self._addresses[1:], self._addresses[0]]
        self._connect_publisher()

    def publish_one(self, payload: bytes) -> None:
        """Publish and wait for the acknowledgement."""

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        """Publish as fast as the client can, up to `count` (0: any) within `duration_s`. Wait for all acknowledgements
        and return their number.
        """

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        """Publish one message in each interval, stamped with the time it was due, without waiting for earlier ones."""

    def open_reader(self, group: str) -> None:
        """Subscribe as that group, or read from the start without a group."""

    def read(self, count: int) -> Iterator[list[bytes]]:
        """Yield the next `count` messages in chunks as they arrive."""

    def open_transformer(self, group: str) -> None:
        """Read from the start as that group, and open a transactional producer."""

    def transform(self, output: str, messages: int, duration_s: float) -> list[float]:
        """Consume, transform and produce to `output`, `messages` in each transaction, for that time. Return the seconds
        that each transaction took.
        """

    def close(self) -> None: ...


# The package of each product's client, and the class in this package that uses it.
CLIENTS: dict[Dialect, tuple[str, str, str]] = {
    "kafka": ("confluent-kafka", "kafka", "KafkaClient"),
    "nats": ("nats-py", "nats", "NatsClient"),
    "redis": ("redis", "redis", "RedisClient"),
    "amqp": ("pika", "rabbitmq", "RabbitClient"),
}


def client_of(where: Where) -> Client:
    """Return the client of that dialect. Only its own library is imported."""
    _, module, name = CLIENTS[where.dialect]
    client: Client = getattr(importlib.import_module(f"{__name__}.{module}"), name)(where)
    return client


def missing_package(dialect: Dialect) -> str | None:
    """Return why there is no client of that dialect, or None."""
    package = CLIENTS[dialect][0]
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return f"the package {package} is not installed: run `{pip_install('bench')}`"
    return None
