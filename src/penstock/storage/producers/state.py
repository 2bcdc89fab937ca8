"""The idempotent and transactional producers of one partition, and the checks of their appends.

No I/O: the log asks `check` before an append, reports the append to `update` or `end_transaction`, and on
recovery or as a follower feeds every batch to `replay`, which checks nothing because its leader did.

The rules are Kafka's (KIP-98, KIP-360):
- the last five batches of each producer are remembered, so that a retry of any of them is found and answered
  with the offsets of the original;
- within an epoch sequences continue without a gap, and wrap to 0 after 2^31-1; a new epoch starts at 0;
- an older epoch is fenced; a producer that is not known, or was forgotten, may start at any sequence;
- an open transaction keeps its producer from expiring and holds the last stable offset back, until its marker
  is in the log and the marker is below the high watermark.

If a batch that must be replayed is corrupt, its effect on its producer is unknown: all state that depends on it is
unverified until it is repaired. Meanwhile nothing is readable as stable from there on, and no producer's batch is
accepted.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, BatchHeader
from penstock.protocol.records.control import EndTxnMarker
from penstock.storage.segment.transaction_index import CompletedTransaction

BATCHES_KEPT = 5
EXPIRATION_MS_DEFAULT = 86_400_000
NO_COORDINATOR_EPOCH = -1

_SEQUENCE_MAX = 2**31 - 1


class StoredBatch(NamedTuple):
    """One of a producer's last batches: the fields needed to answer a retry."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & _SEQUENCE_MAX

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """The state of one producer id in one partition."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        *,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_first_offset: int | None = None,
        batches: Iterable[StoredBatch] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches: list[StoredBatch] = list(batches)  # oldest first, at most BATCHES_KEPT

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def enter_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch

    def add(self, batch: StoredBatch) -> None:
        if len(self.batches) == BATCHES_KEPT:
            del self.batches[0]
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp

    def copy(self) -> "ProducerEntry":
        return ProducerEntry(
            self.producer_id,
            self.producer_epoch,
            coordinator_epoch=self.coordinator_epoch,
            last_timestamp=self.last_timestamp,
            transaction_first_offset=self.transaction_first_offset,
            batches=self.batches,
        )


class Duplicate(msgspec.Struct, frozen=True):
    """The batch is in the log already: answer the producer as when it was first appended."""

    first_offset: int
    last_offset: int
    timestamp: int


class Refusal(msgspec.Struct, frozen=True):
    """The batch must not be appended."""

    code: ErrorCode
    message: str


class ProducerStates:
    """All producers of one partition."""

    __slots__ = ("_entries", "_ongoing", "end_offset", "expiration_ms", "unreplicated", "unverified_from")

    def __init__(self, *, expiration_ms: int = EXPIRATION_MS_DEFAULT) -> None:
        self.expiration_ms = expiration_ms
        self._entries: dict[int, ProducerEntry] = {}
        # First offset of each open transaction -> its producer. Offsets only increase, so this is offset order.
        self._ongoing: dict[int, int] = {}
        self.unreplicated: dict[int, int] = {}
        """First offset -> offset of the marker, for ended transactions with a marker above the high watermark."""
        self.end_offset = 0  # every batch below it is reflected here
        self.unverified_from: int | None = None
        """Transactions with records from here on, and all producers, may be wrong."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._entries.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this producer, in this epoch, has an open transaction with data here (KIP-890)."""
        entry = self._entries.get(producer_id)
        return (
            entry is not None
            and entry.transaction_first_offset is not None
            and entry.producer_epoch == producer_epoch
        )

    # The leader calls these before it appends.

    def check(self, header: BatchHeader, *, is_from_client: bool = True) -> Duplicate | Refusal | None:
        """Check a data batch with a producer id; None if it may be appended.

        A coordinator's appends for a producer (offset commits) have no sequences: only the epoch is checked.
        """
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        epoch = header.producer_epoch
        if is_from_client and epoch == entry.producer_epoch:
            duplicate = _find_duplicate(entry, header)
            if duplicate is not None:
                return duplicate
        if epoch < entry.producer_epoch:
            return _fenced(entry, epoch)
        if is_from_client and (refusal := _check_sequence(entry, header)) is not None:
            return refusal
        if entry.transaction_first_offset is not None and not header.is_transactional:
            return Refusal(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {entry.producer_id} has an open transaction here since offset "
                f"{entry.transaction_first_offset}, and this batch is not part of it",
            )
        return None

    def check_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int) -> Refusal | None:
        """Check a marker of a transaction coordinator; None if it may be appended."""
        entry = self._entries.get(producer_id)
        if entry is None:
            return None
        if producer_epoch < entry.producer_epoch:
            return _fenced(entry, producer_epoch)
        if coordinator_epoch < entry.coordinator_epoch:
            return Refusal(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {coordinator_epoch} is older than {entry.coordinator_epoch}, "
                f"the last one that ended a transaction of producer {producer_id} here",
            )
        return None

    # The log calls these after it appended.

    def update(self, header: BatchHeader, base_offset: int, max_timestamp: int) -> None:
        """Apply a data batch with a producer id as it was stored, at `base_offset`."""
        entry = self._entry(header.producer_id)
        delta = header.last_offset_delta
        entry.enter_epoch(header.producer_epoch)
        entry.add(StoredBatch(header.last_sequence, base_offset + delta, delta, max_timestamp))
        if header.is_transactional and entry.transaction_first_offset is None:
            entry.transaction_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id
        self.end_offset = base_offset + delta + 1

    def end_transaction(
        self, producer_id: int, producer_epoch: int, marker: EndTxnMarker, *, offset: int, timestamp: int
    ) -> CompletedTransaction | None:
        """Apply a marker stored at `offset`; None when the transaction has no data in this partition."""
        entry = self._entry(producer_id)
        first_offset = entry.transaction_first_offset
        entry.enter_epoch(producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = None
        self.end_offset = offset + 1
        if first_offset is None:
            return None
        self._ongoing.pop(first_offset, None)
        self.unreplicated[first_offset] = offset
        return CompletedTransaction(
            producer_id=producer_id,
            first_offset=first_offset,
            last_offset=offset,
            is_aborted=not marker.is_commit,
            last_stable_offset=next(iter(self._ongoing), offset + 1),
        )

    def replay(self, header: BatchHeader, marker: EndTxnMarker | None = None) -> CompletedTransaction | None:
        """Apply any stored batch, in offset order, unchecked; `marker` is the marker that ends a transaction.

        A control batch without a marker is of another kind, or was emptied by compaction.
        """
        completed: CompletedTransaction | None = None
        if header.has_producer_id:
            if marker is not None:
                completed = self.end_transaction(
                    header.producer_id,
                    header.producer_epoch,
                    marker,
                    offset=header.base_offset,
                    timestamp=header.max_timestamp,
                )
            elif not header.is_control:
                self.update(header, header.base_offset, header.max_timestamp)
        self.end_offset = header.next_offset
        return completed

    # The last stable offset.

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset of the oldest transaction that is open or unverified, or whose marker may still be lost."""
        oldest = next(iter(self._ongoing), None)
        if self.unreplicated:
            ended = min(self.unreplicated)
            oldest = ended if oldest is None else min(oldest, ended)
        if self.unverified_from is not None:
            return self.unverified_from if oldest is None else min(oldest, self.unverified_from)
        return oldest

    def advance_high_watermark(self, high_watermark: int) -> None:
        """Markers below the high watermark are safe: their transactions no longer hold readers back."""
        if self.unreplicated:
            self.unreplicated = {
                first: last for first, last in self.unreplicated.items() if last >= high_watermark
            }

    def advance_log_start(self, log_start_offset: int) -> None:
        """Records below were deleted. Producers are kept: without them a retry would be appended twice."""
        self.advance_high_watermark(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)

    # Unverified producers.

    def mark_unverified(self, offset: int) -> None:
        """Record that the batch at `offset` is unknown. It may have ended any transaction that is open there."""
        if self.unverified_from is None:
            self.unverified_from = min(offset, next(iter(self._ongoing), offset))

    def trust(self) -> None:
        """No other replica can verify the state: accept it as it is."""
        self.unverified_from = None

    # Forgetting, saving and loading.

    def expire(self, now_ms: int) -> int:
        """Forget producers that have been idle for too long; an open transaction is never idle."""
        idle = [entry.producer_id for entry in self._entries.values() if self._is_expired(entry, now_ms)]
        for producer_id in idle:
            del self._entries[producer_id]
        return len(idle)

    def remove(self, producer_id: int) -> None:
        """Forget a producer and its open transaction."""
        entry = self._entries.pop(producer_id, None)
        if entry is not None and entry.transaction_first_offset is not None:
            self._ongoing.pop(entry.transaction_first_offset, None)

    def forget_below(self, offset: int) -> None:
        """Forget what was appended below `offset`, where another cluster gave the producer ids."""
        for entry in list(self._entries.values()):
            entry.batches = [each for each in entry.batches if each.last_offset >= offset]
            if not entry.batches:
                self.remove(entry.producer_id)

    def snapshot(self) -> list[ProducerEntry]:
        """A copy that later appends do not change, for `producer_snapshot.encode_snapshot`."""
        return [entry.copy() for entry in self._entries.values()]

    def restore(self, entries: Iterable[ProducerEntry], *, end_offset: int, now_ms: int) -> None:
        """Start over from a snapshot taken at `end_offset` (none: an empty one at the log's start)."""
        self.clear(end_offset)
        kept = [entry.copy() for entry in entries if not self._is_expired(entry, now_ms)]
        self._entries = {entry.producer_id: entry for entry in kept}
        opened = [(e.transaction_first_offset, e.producer_id) for e in kept]
        self._ongoing = {
            first: producer for first, producer in sorted(opened, key=_by_first) if first is not None
        }

    def clear(self, end_offset: int = 0) -> None:
        """Forget everything: the log was truncated, and is replayed from `end_offset` on."""
        self._entries = {}
        self._ongoing = {}
        self.unreplicated = {}
        self.unverified_from = None
        self.end_offset = end_offset

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        return entry

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.transaction_first_offset is None and now_ms - entry.last_timestamp >= self.expiration_ms


def _by_first(opened: tuple[int | None, int]) -> int:
    return -1 if opened[0] is None else opened[0]


def _find_duplicate(entry: ProducerEntry, header: BatchHeader) -> Duplicate | None:
    last_sequence = header.last_sequence
    for batch in entry.batches:
        if batch.last_sequence == last_sequence and batch.first_sequence == header.base_sequence:
            return Duplicate(batch.first_offset, batch.last_offset, batch.timestamp)
    return None


def _check_sequence(entry: ProducerEntry, header: BatchHeader) -> Refusal | None:
    sequence = header.base_sequence
    if header.producer_epoch != entry.producer_epoch:
        if sequence == 0 or entry.producer_epoch == NO_PRODUCER_EPOCH:
            return None
        return Refusal(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Producer {entry.producer_id} starts epoch {header.producer_epoch} with sequence {sequence}, not 0",
        )
    if entry.producer_epoch == NO_PRODUCER_EPOCH:
        return None
    expected = entry.last_sequence + 1 if entry.last_sequence < _SEQUENCE_MAX else 0
    if sequence == expected:
        return None
    return Refusal(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"Producer {entry.producer_id} sent sequence {sequence} where {expected} follows",
    )


def _fenced(entry: ProducerEntry, producer_epoch: int) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Epoch {producer_epoch} of producer {entry.producer_id} is older than its epoch {entry.producer_epoch}",
    )
