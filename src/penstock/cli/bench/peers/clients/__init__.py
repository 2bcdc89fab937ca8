"""One module for each product's client; each has a class `Client` that keeps `Client` of this package."""

import importlib.metadata
from collections.abc import Iterator
from typing import Final, Protocol

from penstock.cli.bench.peers.tasks import Dialect, Where
from penstock.distribution import pip_install

ANSWER_WITHIN_S: Final = 60.0


class NotDelivered(Exception):
    """A message was refused, or was not acknowledged or received in time."""


class Client(Protocol):
    """What the workloads ask of a client. Everything blocks; a client does one thing in its life. `NoTransactions`
    stands in for what only Kafka's protocol has.
    """

    def create(self) -> None:
        """Make the stream; it is ready for publishing afterwards."""

    def remove(self) -> None:
        """Delete the stream with all it holds."""

    def first(self) -> None:
        """Connect, make the stream if it is not there, and publish one message: raises when that fails."""

    def open_publisher(self, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        """Connect, so that connecting is not what is measured. A publish that is not acknowledged in time fails, where
        the client does not wait for as long as its connection lasts.
        """

    def reopen_publisher(self) -> None:
        """After a publish that failed: get ready for the next, at another node where the client does not find it."""

    def publish_one(self, payload: bytes) -> None:
        """Publish and wait for the acknowledgement."""

    def publish_many(self, payload: bytes, count: int, duration_s: float) -> int:
        """Publish as fast as the client can, up to `count` (0: any) within `duration_s`; gives how many were
        acknowledged when all of them are.
        """

    def publish_paced(self, size_bytes: int, count: int, interval_s: float) -> None:
        """Publish one message an interval, stamped with the time it was due, whether or not earlier ones are
        acknowledged.
        """

    def open_reader(self, group: str) -> None:
        """Attach to the stream: as that group, or at its start without one."""

    def read(self, count: int) -> Iterator[list[bytes]]:
        """The next `count` messages, in pieces as they come."""

    def open_transformer(self, group: str) -> None:
        """Attach to the stream's start as that group, and become a transactional producer."""

    def transform(self, output: str, messages: int, duration_s: float) -> list[float]:
        """Consume, transform and produce to `output`, `messages` in each transaction, for so long; gives how long each
        transaction took in seconds.
        """

    def close(self) -> None: ...


class NoTransactions:
    """A product without transactions over streams."""

    def open_transformer(self, group: str) -> None:
        raise NotImplementedError

    def transform(self, output: str, messages: int, duration_s: float) -> list[float]:
        raise NotImplementedError


def client_of(where: Where) -> Client:
    """The client that speaks what is spoken there; only its own library is imported."""
    return _OPENERS[where.dialect](where)


def _kafka(where: Where) -> Client:
    from penstock.cli.bench.peers.clients.kafka import KafkaClient

    return KafkaClient(where)


def _nats(where: Where) -> Client:
    from penstock.cli.bench.peers.clients.nats import NatsClient

    return NatsClient(where)


def _redis(where: Where) -> Client:
    from penstock.cli.bench.peers.clients.redis import RedisClient

    return RedisClient(where)


def _amqp(where: Where) -> Client:
    from penstock.cli.bench.peers.clients.rabbitmq import RabbitClient

    return RabbitClient(where)


_OPENERS = {"kafka": _kafka, "nats": _nats, "redis": _redis, "amqp": _amqp}
PACKAGES: dict[Dialect, str] = {
    "kafka": "confluent-kafka",
    "nats": "nats-py",
    "redis": "redis",
    "amqp": "pika",
}


def missing_package(dialect: Dialect) -> str | None:
    """Why there is no client of that dialect, if there is none."""
    try:
        importlib.metadata.version(PACKAGES[dialect])
    except importlib.metadata.PackageNotFoundError:
        return f"the package {PACKAGES[dialect]} is not there: run `{pip_install('bench')}`"
    return None
