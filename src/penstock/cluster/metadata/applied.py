"""The committed metadata, applied to the image and passed on to subscribers, in the order of the log."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.delta import MetadataDelta, difference
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import decode_batches
from penstock.protocol.wire import Buffer

Subscriber = Callable[[MetadataDelta], Awaitable[None] | None]
"""Called for every change in order. Its awaitable is awaited before the next change and before the answer."""


class AppliedMetadata:
    """The quorum hands in the committed batches of all controllers."""

    __slots__ = ("_subscribers", "_waiting", "image")

    def __init__(self, image: MetadataImage) -> None:
        self._subscribers: list[Subscriber] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.image = image

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.append(subscriber)

    async def reached(self, offset: int) -> None:
        """Wait until everything up to `offset` is applied."""
        if self.image.offset < offset:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((offset, waiter))
            await waiter

    async def apply_batches(self, buffer: Buffer) -> None:
        """Apply committed batches in order."""
        for last_offset, records in decode_batches(buffer):
            await self._publish(replay.apply(self.image, records, last_offset))

    async def restart_from(self, pieces: Iterable[Buffer], last_offset: int) -> None:
        """Replace the image by a snapshot; subscribers are notified of the difference."""
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
