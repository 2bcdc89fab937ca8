"""The metadata log: a decision is appended as one batch, committed, applied to the image, and told to subscribers.

In that order: nothing is seen, here or by a client, that a crash could take back. The quorum holds the log and hands in
what it committed, whoever decided it; a single node is a quorum of one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.delta import MetadataDelta, difference
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import decode_batches, encode_batch
from penstock.observability.clock import Clock
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.protocol.wire import Buffer

Subscriber = Callable[[MetadataDelta], Awaitable[None] | None]
"""Told of every change in order. What it returns is awaited before the next change and before the answer."""


class RecordSink(Protocol):
    """The log that holds the metadata: all that this module needs of it."""

    async def append(self, batch: bytes, now_ms: int) -> int:
        """Append a batch and give its last offset once it is committed."""
        ...

    @property
    def next_offset(self) -> int:
        """The offset that the next record will have."""
        ...


class MetadataLog:
    """One writer at a time: the controller holds its lock over decide, append and apply."""

    __slots__ = ("_clock", "_sink", "_subscribers", "_waiting", "image")

    def __init__(self, image: MetadataImage, clock: Clock) -> None:
        self._clock = clock
        self._sink: RecordSink
        self._subscribers: list[Subscriber] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.image = image

    def connect(self, sink: RecordSink) -> None:
        """Say where decisions go."""
        self._sink = sink

    @property
    def next_offset(self) -> int:
        return self._sink.next_offset

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    async def append(self, records: Sequence[MetadataRecord]) -> None:
        """Have a decision committed; it is known here when this returns."""
        now_ms = self._clock.now_ms()
        batch = encode_batch(records, now_ms, self.image.features.metadata_version)
        last_offset = await self._sink.append(batch, now_ms)
        await self.reached(last_offset)

    async def reached(self, offset: int) -> None:
        """Wait until everything up to `offset` is applied."""
        if self.image.offset < offset:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((offset, waiter))
            await waiter

    async def apply_batches(self, buffer: Buffer) -> None:
        """Take in committed batches, one after the other."""
        for last_offset, records in decode_batches(buffer):
            await self._publish(replay.apply(self.image, records, last_offset))

    async def restart_from(self, pieces: Iterable[Buffer], last_offset: int) -> None:
        """Let a snapshot replace what was known; subscribers are told the difference."""
        image = MetadataImage(self.image.cluster_id)
        for buffer in pieces:
            for _, records in decode_batches(buffer):
                replay.apply(image, records, last_offset)
        image.offset = last_offset
        delta = difference(self.image, image)
        self.image.become(image)
        await self._publish(delta)

    async def _publish(self, delta: MetadataDelta) -> None:
        for subscriber in self._subscribers:
            waiting = subscriber(delta)
            if waiting is not None:
                await waiting
        still = [(offset, waiter) for offset, waiter in self._waiting if offset > self.image.offset]
        for offset, waiter in self._waiting:
            if offset <= self.image.offset and not waiter.done():
                waiter.set_result(None)
        self._waiting = still
