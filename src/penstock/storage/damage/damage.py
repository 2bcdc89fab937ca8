"""Finds corruption in a segment: bytes that are not the batches that were written there.

A batch whose checksum does not match is damaged, and so is everything from an invalid header to the next valid batch.
So is a batch whose offset or leader epoch does not belong there: the checksum covers neither. Everything after the
damage is valid and stays readable. No I/O except for the `read` function that it is given, which may wait for the disk:
run it on a thread.
"""

from collections.abc import Callable

import msgspec

from penstock.protocol.records.batch import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_LEADER_EPOCH,
    BatchHeader,
    crc_is_valid,
    iter_batches_strict,
)
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.batch_scan import BatchScan
from penstock.storage.files import Buffer
from penstock.storage.leader_epochs import LeaderEpochs

Read = Callable[[int, int], Buffer]
"""`read(size_bytes, position)`: shorter only at the end of the file."""

_WINDOW_BYTES = 1 << 20
_LENGTH_MIN = HEADER_SIZE - LOG_OVERHEAD
_SLICE_BYTES = 1 << 20
_SLICE_BATCHES = 500


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of the segment that begins at `segment`, and the offsets that their records had."""

    segment: int
    position: int
    size_bytes: int
    """0 when the bytes are missing at the end of the segment and their number is not known."""
    base_offset: int
    next_offset: int

    @property
    def has_known_size(self) -> bool:
        return self.size_bytes > 0

    def __str__(self) -> str:
        size = f"{self.size_bytes} bytes" if self.has_known_size else "the missing end"
        return (
            f"{size} at byte {self.position} of segment {self.segment} "
            f"(offsets {self.base_offset} to {self.next_offset - 1})"
        )


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """Records that were durable and are gone: damage whose bytes are gone entirely."""

    path: str
    what: str
    """The problem of the file, as a predicate."""
    damage: Damage


class SegmentCheck:
    """Checks one segment in small slices, so that other tasks run in between."""

    __slots__ = (
        "_before",
        "_end_offset",
        "_epochs",
        "_next_offset",
        "_position",
        "_read",
        "_segment",
        "_size_bytes",
        "found",
    )

    def __init__(
        self,
        read: Read,
        segment: int,
        size_bytes: int,
        end_offset: int,
        epochs: LeaderEpochs,
        *,
        begin: tuple[int, int] | None = None,
    ) -> None:
        """`segment` is its base offset, `end_offset` the base offset of the next one, or the end of the log. `epochs`
        do not change.

        `begin` is a position other than 0 to begin at, with the offset that belongs there.
        """
        self._read = read
        self._epochs = epochs
        self._segment = segment
        self._size_bytes = size_bytes
        self._end_offset = end_offset
        self._before = begin or (0, segment)
        """The position of the last batch, and the offset that belonged there."""
        self._position, self._next_offset = self._before
        self.found: list[Damage] = []

    @property
    def is_complete(self) -> bool:
        return self._position >= self._size_bytes

    @property
    def next_offset(self) -> int:
        return self._next_offset

    def run(self) -> None:
        """Check the next slice. Waits for the disk."""
        scan = BatchScan(self._read, self._position, self._size_bytes, self._next_offset, check_crc=True)
        bound = self._position + _SLICE_BYTES
        for count, (position, header) in enumerate(scan, 1):
            if header.next_offset > self._end_offset or not self._is_of_its_epoch(header):
                self._step_over(header)
                return
            self._before = (position, self._next_offset)
            self._position = position + header.size_bytes
            self._next_offset = header.next_offset
            if count >= _SLICE_BATCHES or self._position >= bound:
                return
        if scan.reason is not None and not self._step_back():
            self._step_over(scan.bad_header)

    def _is_of_its_epoch(self, header: BatchHeader) -> bool:
        epoch = self._epochs.epoch_for(header.base_offset)
        return header.leader_epoch == NO_LEADER_EPOCH or (
            header.leader_epoch >= 0 if epoch is None else header.leader_epoch == epoch
        )

    def _step_back(self) -> bool:
        """Offsets are not part of the checksum: if this batch fits after the last but one, the last batch is bad."""
        position, next_offset = self._before
        header = sound_header(self._read, self._position, self._size_bytes)
        if header is None or not next_offset < header.base_offset < self._next_offset:
            return False
        self._note(position, next_offset, self._position, header.base_offset)
        return True

    def _step_over(self, bad_header: BatchHeader | None) -> None:
        begin, base_offset = self._position, self._next_offset
        sound = next_sound_batch(
            self._read, begin, self._size_bytes, base_offset, self._end_offset, bad_header=bad_header
        )
        end, next_offset = sound or (self._size_bytes, self._end_offset)
        self._note(begin, base_offset, end, next_offset)

    def _note(self, begin: int, base_offset: int, end: int, next_offset: int) -> None:
        self.found.append(
            Damage(
                segment=self._segment,
                position=begin,
                size_bytes=end - begin,
                base_offset=base_offset,
                next_offset=next_offset,
            )
        )
        self._before = (begin, base_offset)
        self._position, self._next_offset = end, next_offset


def sound_header(read: Read, position: int, size_bytes: int) -> BatchHeader | None:
    """The header of the batch at `position`, if it is valid."""
    if position + HEADER_SIZE > size_bytes:
        return None
    head = read(HEADER_SIZE, position)
    if len(head) < HEADER_SIZE:
        return None  # something else has cut the file
    header = BatchHeader(*HEADER.unpack_from(head, 0))
    is_batch = header.magic == MAGIC and header.batch_length >= _LENGTH_MIN and header.last_offset_delta >= 0
    if not is_batch or position + header.size_bytes > size_bytes:
        return None
    return header if crc_is_valid(read(header.size_bytes, position), 0, header.size_bytes) else None


def next_sound_batch(
    read: Read,
    position: int,
    size_bytes: int,
    next_offset: int,
    end_offset: int,
    *,
    bad_header: BatchHeader | None = None,
) -> tuple[int, int] | None:
    """The position and base offset of the first valid batch after a bad one at `position`; None if there is none.

    `bad_header` is the bad batch's header if it looks valid: most likely it also says where that batch ends.
    """

    def base_offset_at(at: int) -> int | None:
        header = sound_header(read, at, size_bytes)
        is_next = header is not None and next_offset < header.base_offset < end_offset
        return header.base_offset if header is not None and is_next else None

    if bad_header is not None:
        end = position + bad_header.size_bytes
        if end == size_bytes:
            return None
        if (base_offset := base_offset_at(end)) is not None:
            return end, base_offset
    window = position + 1
    while window + HEADER_SIZE <= size_bytes:
        chunk = bytes(read(min(_WINDOW_BYTES + HEADER_SIZE, size_bytes - window), window))
        at = chunk.find(MAGIC, MAGIC_POSITION)
        while 0 <= at - MAGIC_POSITION <= len(chunk) - HEADER_SIZE:
            start = window + at - MAGIC_POSITION
            if (base_offset := base_offset_at(start)) is not None:
                return start, base_offset
            at = chunk.find(MAGIC, at + 1)
        if len(chunk) < HEADER_SIZE:
            return None
        window += len(chunk) - HEADER_SIZE + 1
    return None


def repairs(damage: Damage, batches: Buffer, epochs: LeaderEpochs) -> bool:
    """Whether these batches, from another replica, are identical to the damaged ones: valid, and neither more nor less.

    They are when the same leader wrote them, which their epochs show: they must lie between the epochs before and after
    the damage. If the number of bytes is not known, the last batch must end where the damage does.
    """
    if damage.has_known_size and len(batches) != damage.size_bytes:
        return False
    next_offset, epoch = damage.base_offset, epochs.epoch_for(damage.base_offset)
    epoch_max = epochs.epoch_for(damage.next_offset)
    try:
        for position, header in iter_batches_strict(batches):
            is_next = next_offset <= header.base_offset and header.next_offset <= damage.next_offset
            is_same = (epoch is None or epoch <= header.leader_epoch) and (
                epoch_max is None or header.leader_epoch <= epoch_max
            )
            if not (is_next and is_same and crc_is_valid(batches, position, header.size_bytes)):
                return False
            next_offset, epoch = header.next_offset, header.leader_epoch
    except CorruptRecords:
        return False
    return damage.has_known_size or next_offset == damage.next_offset


def sound_part(batches: Buffer) -> tuple[int, int]:
    """How many bytes of these whole batches, from the first one, are valid, and the offset after them.

    An offset is confirmed only by the next batch, since no checksum covers it. So the last batch is left out if there
    is a gap before it, unless it is the only batch.
    """
    end, next_offset = 0, -1
    before = end, next_offset
    is_behind_gap = False
    try:
        for position, header in iter_batches_strict(batches):
            if header.base_offset < next_offset:
                return before
            if not crc_is_valid(batches, position, header.size_bytes):
                break
            is_behind_gap = end > 0 and header.base_offset > next_offset
            before = end, next_offset
            end, next_offset = position + header.size_bytes, header.next_offset
    except CorruptRecords:
        pass
    return before if is_behind_gap else (end, next_offset)
