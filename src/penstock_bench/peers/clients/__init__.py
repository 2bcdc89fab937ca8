"""The clients of all products, a module each, behind one protocol: `Client`."""

import importlib
import importlib.metadata
from collections.abc import Iterator
from typing import Final, Protocol

from penstock.distribution import pip_install
from penstock_bench.peers.tasks import Dialect, Where

ANSWER_WITHIN_S: Final = 60.0


class NotDelivered(Exception):
    """A message was rejected, or not acknowledged or received in time."""


class Client(Protocol):
    """The operations that workloads need. All of them block; each client runs one task. `NoTransactions` stands in for
    operations that only Kafka's protocol has.
    """

    def create(self) -> None:
        """Create the stream, and wait until it is ready for publishing."""

    def remove(self) -> None:
        """Delete the stream."""

    def first(self) -> None:
        """Connect, create the stream if it does not exist, and publish one message. Raises when that fails."""

    def open_publisher(self, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        """Connect before the clock starts. A publish that is not acknowledged in time fails, except with pika, which
        waits as long as its connection lasts.
        """

    def reopen_publisher(self) -> None:
        """Prepare for the next publish after a failure, at another node where the client does not find it itself."""

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


class NoTransactions:
    """A product without transactions over streams."""

    def open_transformer(self, group: str) -> None:
        raise NotImplementedError

    def transform(self, output: str, messages: int, duration_s: float) -> list[float]:
        raise NotImplementedError


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
