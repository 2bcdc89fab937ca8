"""Tasks of a client process and their outcomes. They cross a pipe as lines of JSON."""

from typing import Final, Literal

import msgspec

WARM_UP_MESSAGES: Final = 20  # sent by a lone publisher before the clock starts

Dialect = Literal["kafka", "nats", "redis", "amqp"]
Operation = Literal[
    "create", "remove", "first", "lone", "bulk", "read", "timed-read", "paced", "transform", "outage"
]


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


class Task(msgspec.Struct, frozen=True, kw_only=True):
    where: Where
    operation: Operation
    message_bytes: int = 100
    count: int = 0  # number of messages; 0: limited by the duration only
    duration_s: float = 0.0
    rate_per_s: int = 0
    group: str = ""
    output: str = ""  # the output stream of a transformation
    transaction_messages: int = 1


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
