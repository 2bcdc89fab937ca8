"""The metadata log: a decision is appended as one batch, committed, applied to the image, and passed to subscribers.

In that order: nothing is seen, here or by a client, that a crash could take back. The quorum holds the log; a single
node is a quorum of one.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from penstock.cluster.metadata.applied import AppliedMetadata, Subscriber
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.records import encode_batch
from penstock.protocol.messages.metadata_records import MetadataRecord
from penstock.runtime.clock import Clock


class RecordSink(Protocol):
    """The quorum's log, which holds the metadata: all that a controller needs of it."""

    @property
    def leader_id(self) -> int | None:
        """The leader of the quorum, if it is known."""
        ...

    @property
    def voter_ids(self) -> Collection[int]: ...

    @property
    def is_active(self) -> bool:
        """Whether this node leads and has applied everything that was committed before it did."""
        ...

    async def append(self, batch: bytes) -> int:
        """Append a batch; returns its last offset once it is committed."""
        ...

    @property
    def next_offset(self) -> int:
        """The offset that the next record will have."""
        ...


class MetadataLog:
    """One writer at a time: the controller holds its lock over decide, append and apply."""

    __slots__ = ("_applied", "_clock", "sink")

    def __init__(self, applied: AppliedMetadata, sink: RecordSink, clock: Clock) -> None:
        self._applied = applied
        self._clock = clock
        self.sink = sink

    @property
    def image(self) -> MetadataImage:
        return self._applied.image

    def subscribe(self, subscriber: Subscriber) -> None:
        self._applied.subscribe(subscriber)

    async def append(self, records: Sequence[MetadataRecord]) -> None:
        """Commit the records of a decision; they are applied here when this returns."""
        batch = encode_batch(records, self._clock.now_ms(), self.image.features.metadata_version)
        last_offset = await self.sink.append(batch)
        await self._applied.reached(last_offset)
