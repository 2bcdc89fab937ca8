"""The operations that the interop tests need of every client, whatever its language and API.

A client here is an unmodified library (or command) behind a few methods. Consuming is by assigned partition, so
that it needs no group; a client that consumes only through groups makes one for each reading.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

Headers = tuple[tuple[str, bytes | None], ...]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CALL_TIMEOUT_S = 30.0
MESSAGE_BYTES_MAX = 3 * 1024 * 1024  # the limit that clients are configured with


class Message(msgspec.Struct, frozen=True):
    """A message to send."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


class Received(msgspec.Struct, frozen=True):
    """A message as a client read it."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


class Cluster(msgspec.Struct, frozen=True):
    """A client's view of the cluster."""

    cluster_id: str | None
    controller_id: int | None
    brokers: tuple[tuple[int, str, int], ...]


class RequestRefused(Exception):
    """The broker refused a client's request; the message is the client's own."""


class Client(Protocol):
    """A producer and a consumer."""

    @property
    def name(self) -> str: ...

    @property
    def codecs(self) -> Sequence[str]: ...

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
    ) -> None:
        """Send all messages to one partition and wait for the acknowledgement of `acks`; raises the client's errors."""
        ...

    def consume(self, topic: str, count: int, *, partition: int = 0, offset: int = 0) -> list[Received]:
        """Read `count` messages from `offset` on; fewer when they do not come in time."""
        ...

    def writable(self, message: Message) -> Message | None:
        """`message` as far as this client can express it; None when it cannot at all."""
        ...

    def readable(self, headers: Headers) -> Headers:
        """`headers` as this client shows them to its user."""
        ...

    def close(self) -> None: ...


class Admin(Protocol):
    """The admin operations of a client. Each raises `RequestRefused` when the broker refuses."""

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str]) -> None: ...

    def topics(self) -> set[str]: ...

    def partition_count(self, topic: str) -> int: ...

    def create_partitions(self, topic: str, total: int) -> None: ...

    def topic_config(self, topic: str) -> dict[str, str]: ...

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None: ...

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None: ...

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        """Earliest and latest offset."""
        ...

    def offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        """First offset at or after a time; -1 when there is none."""
        ...

    def cluster(self) -> Cluster: ...

    def delete_topic(self, topic: str) -> None: ...
