"""The metadata log: a decision is appended as one batch, made durable, applied to the image, and told to subscribers.

In that order: nothing is seen, here or by a client, that a crash could take back. A single node is a quorum of one; the
quorum will replicate the same log and call `apply` for what it committed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.delta import MetadataDelta, everything
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import decode_batches, encode_batch
from penstock.observability.clock import Clock
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.protocol.wire import Buffer

Subscriber = Callable[[MetadataDelta], Awaitable[None] | None]
"""Told of every change in order. What it returns is awaited before the next change and before the answer."""


class RecordSink(Protocol):
    """The log that holds the metadata: all that this module needs of storage."""

    async def append(self, batch: bytes, now_ms: int) -> int:
        """Append a batch and give its last offset once it is durable."""
        ...

    def batches(self) -> AsyncIterator[Buffer]:
        """Everything that is durable, oldest first, in pieces of whole batches."""
        ...

    @property
    def next_offset(self) -> int:
        """The offset that the next record will have."""
        ...


class MetadataLog:
    """One writer at a time: the controller holds its lock over decide, append and apply."""

    __slots__ = ("_clock", "_sink", "_subscribers", "image")

    def __init__(self, sink: RecordSink, image: MetadataImage, clock: Clock) -> None:
        self._sink = sink
        self._clock = clock
        self._subscribers: list[Subscriber] = []
        self.image = image

    @property
    def next_offset(self) -> int:
        return self._sink.next_offset

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    async def replay(self) -> None:
        """Bring the image up to what the log holds, and tell subscribers the result as one change."""
        async for buffer in self._sink.batches():
            for last_offset, records in decode_batches(buffer):
                replay.apply(self.image, records, last_offset)
        await self._publish(everything(self.image))

    async def append(self, records: Sequence[MetadataRecord]) -> None:
        """Make a decision durable, then known."""
        batch = encode_batch(records, self._clock.now_ms())
        last_offset = await self._sink.append(batch, self._clock.now_ms())
        await self.apply(records, last_offset)

    async def apply(self, records: Sequence[MetadataRecord], last_offset: int) -> None:
        """Take in records that are committed."""
        await self._publish(replay.apply(self.image, records, last_offset))

    async def _publish(self, delta: MetadataDelta) -> None:
        for subscriber in self._subscribers:
            waiting = subscriber(delta)
            if waiting is not None:
                await waiting
