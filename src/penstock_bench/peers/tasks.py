"""The place that a client process works on, and the outcome of its operation. They cross a pipe."""

from typing import Literal

import msgspec

Dialect = Literal["kafka", "nats", "redis", "amqp"]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """A stream on a server; products call it topic, stream or queue."""

    dialect: Dialect
    host: str
    port: int
    stream: str
    options: dict[str, str] = {}  # settings of the stream, by the product's own names
    partitions: int = 1
    only_partition: int | None = None  # for a publisher of one partition only
    replicas: int = 1
    others: tuple[str, ...] = ()  # the other nodes of its cluster, as host:port
    groups: int = 0  # number of groups that will read it: RabbitMQ needs a queue for each

    @property
    def addresses(self) -> tuple[str, ...]:
        return (f"{self.host}:{self.port}", *self.others)

    @property
    def bootstrap(self) -> str:
        return ",".join(self.addresses)

    @property
    def published_partitions(self) -> tuple[int, ...]:
        return tuple(range(self.partitions)) if self.only_partition is None else (self.only_partition,)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`ended_at_s` is a time of the monotonic clock, which all processes of a machine share."""

    count: int = 0
    took_s: float = 0.0
    ended_at_s: float = 0.0
    latencies_s: list[float] = []
    failure: str = ""

    @property
    def rate(self) -> float:
        return self.count / self.took_s


def place_on(address: tuple[str, int], topic: str) -> Where:
    """Return a topic of a broker."""
    return Where(dialect="kafka", host=address[0], port=address[1], stream=topic)
