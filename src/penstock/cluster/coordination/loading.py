"""Replays the log of a coordinator's partition, around damaged records if it has any.

Other replicas of the partition may have the damaged records: the load waits a few seconds for a repair, then skips
them. The state must not act on anything that the skipped records may have changed; everything else is served.
"""

import asyncio
import logging
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from penstock.cluster.replica import Replica
from penstock.protocol.errors import ProtocolError
from penstock.protocol.records.batch import BatchHeader, iter_batches
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.record import Record, iter_records
from penstock.protocol.wire import Buffer
from penstock.runtime.clock import Clock
from penstock.storage.damage.damage import Damage
from penstock.storage.errors import LogCorrupt, OffsetOutOfRange
from penstock.storage.log.repair import LogRepair
from penstock.storage.segment.segment import LOG

log = logging.getLogger(__name__)

_READ_BYTES: Final = 64 * 1024  # replayed in some 6 ms, before the loop serves others
_REPAIR_WAIT_MS: Final = 10_000
_REPAIR_CHECK_MS: Final = 100


class IsOpen(Protocol):
    def __call__(self, producer_id: int) -> bool:
        """Whether a transaction of this producer was open before the missing records, and still is."""
        ...


class Replayed(Protocol):
    """State that is a replay of a log."""

    def replay(self, record: Record, producer_id: int) -> None:
        """Apply one record; `producer_id` is -1 unless it belongs to a transaction.

        Raises `ProtocolError`, and changes nothing, when the record is malformed.
        """
        ...

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None: ...

    def skip_records(self, is_open: IsOpen) -> str:
        """Discard everything that the next records, which are damaged, may have changed.

        Returns a sentence for the log: the consequence, and what to do.
        """
        ...


S = TypeVar("S", bound=Replayed)


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Damaged records that were skipped, and the consequence."""

    damage: Damage
    consequence: str


class PartitionLoad(Generic[S]):
    def __init__(self, replica: Replica, state: S, clock: Clock) -> None:
        self._replica = replica
        self._state = state
        self._clock = clock
        self._tried: set[int] = set()
        self.gaps: list[Gap] = []

    async def run(self, turn: asyncio.Semaphore, end_offset: int) -> None:
        """Replay up to `end_offset`, in turn with others. Raises `LogError` or `CorruptRecords`."""
        offset = self._replica.log.log_start_offset
        while True:
            async with turn:
                stop = await self._replay_from(offset, end_offset)
            if stop is None:
                return
            offset = await self._pass_damage(*stop)

    async def _replay_from(self, offset: int, end_offset: int) -> tuple[int, LogCorrupt] | None:
        """The offset at which records cannot be read, and the error; None at the end."""
        log = self._replica.log
        while offset < end_offset:
            try:
                piece = await log.read_cold(offset, _READ_BYTES, offset_limit=end_offset)
            except OffsetOutOfRange:
                if offset >= log.log_start_offset:
                    raise
                offset = log.log_start_offset  # records below it were deleted meanwhile
                continue
            except LogCorrupt as error:
                return offset, error
            if piece.next_offset <= offset:
                break
            self._replay(piece.records, offset)
            offset = piece.next_offset
            await asyncio.sleep(0)
        return None

    def _replay(self, batches: Buffer, offset: int) -> None:
        for position, header in iter_batches(batches):
            if header.is_control:
                self._replay_control(batches, position, header)
                continue
            producer_id = header.producer_id if header.is_transactional else -1
            for record in iter_records(batches, pos=position):
                if record.offset >= offset:
                    self._replay_record(record, producer_id)

    def _replay_record(self, record: Record, producer_id: int) -> None:
        """A malformed record is skipped, so that the others stay available."""
        try:
            self._state.replay(record, producer_id)
        except ProtocolError as error:
            replica = self._replica
            log.warning(
                "Skipped a malformed record in %s-%d at offset %d: %s",
                replica.topic,
                replica.partition,
                record.offset,
                error,
            )

    def _replay_control(self, batches: Buffer, position: int, header: BatchHeader) -> None:
        for record in iter_records(batches, pos=position):
            kind = control_type(record.key)
            if kind in (ControlType.ABORT, ControlType.COMMIT):
                self._state.end_transaction(header.producer_id, is_commit=kind is ControlType.COMMIT)

    # -- damage ---------------------------------------------------------------------------------------

    async def _pass_damage(self, offset: int, error: LogCorrupt) -> int:
        """The offset to continue at: the same if it can be read now, else the end of the damage. May raise `error`."""
        damage = await self._damage_at(offset)
        if damage is None:
            if offset in self._tried:
                raise error
            # The damage is further on: a read ends before a range that is known to be damaged.
            self._tried.add(offset)
            return offset
        if self._replica.is_replicated and await self._is_repaired(damage):
            return offset
        consequence = self._state.skip_records(partial(self._was_open_before, damage))
        self.gaps.append(Gap(damage=damage, consequence=consequence))
        return damage.next_offset

    async def _damage_at(self, offset: int) -> Damage | None:
        """The damaged range that holds `offset`. A read detects it, a check of the segment finds its length."""
        log = self._replica.log
        if (known := self._known_at(offset)) is not None:
            return known
        await LogRepair(log).check(log.segments[log.chain.number_of(offset)], _without_rest)
        return self._known_at(offset)

    def _known_at(self, offset: int) -> Damage | None:
        ranges = self._replica.log.damaged
        return next((each for each in ranges if each.base_offset <= offset < each.next_offset), None)

    async def _is_repaired(self, damage: Damage) -> bool:
        """Wait a few seconds for `cluster/repair.py` to fetch the records from another replica."""
        give_up_ms = self._clock.monotonic_ms() + _REPAIR_WAIT_MS
        while damage in self._replica.log.damaged and self._clock.monotonic_ms() < give_up_ms:
            await self._clock.sleep(_REPAIR_CHECK_MS)
        return damage not in self._replica.log.damaged

    def _was_open_before(self, damage: Damage, producer_id: int) -> bool:
        entry = self._replica.log.producers.get(producer_id)
        first_offset = None if entry is None else entry.transaction_first_offset
        return first_offset is not None and first_offset < damage.base_offset


def describe_gaps(replica: Replica, gaps: list[Gap]) -> str:
    """For the log: the position of the records, the consequence, and what to do."""
    directory = replica.log.directory
    places = ", ".join(
        f"offsets {each.damage.base_offset} to {each.damage.next_offset - 1} "
        f"(byte {each.damage.position} of {directory}/{each.damage.segment:020d}{LOG})"
        for each in gaps
    )
    return (
        f"{places} are damaged and were skipped. {' '.join(dict.fromkeys(each.consequence for each in gaps))}"
    )


async def _without_rest() -> None:
    await asyncio.sleep(0)
