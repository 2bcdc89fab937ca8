"""Iterates over the batches of a segment after a crash; yields each only when the next batch confirms it.

A batch's checksum does not cover its base offset and leader epoch, which the broker writes into it. But both only
increase from batch to batch: a batch that does not continue from the batch before it, though that batch continues from
earlier ones, is corrupt. If nothing follows a batch, a gap before it shows the corruption, in a log that has no gaps,
when a single flipped bit explains the gap. No I/O except for the `read` function that it is given, which may wait for
the disk.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from penstock.config.topic import LONG_MAX
from penstock.protocol.records.batch import BatchHeader
from penstock.storage.batch_scan import BatchScan
from penstock.storage.damage.damage import Read, next_sound_batch, sound_header
from penstock.storage.files import Buffer


class Confirmed(NamedTuple):
    position: int
    header: BatchHeader
    content: Buffer
    """The bytes of a control batch; empty for any other batch."""


class ConfirmedScan:
    """Iterate for batches; afterwards the attributes say where they end and why, as in `BatchScan`."""

    __slots__ = (
        "_end_offset",
        "_epoch",
        "_read",
        "_size_bytes",
        "bad_header",
        "behind",
        "has_gaps",
        "is_zeros",
        "next_offset",
        "position",
        "reason",
    )

    def __init__(
        self,
        read: Read,
        position: int,
        size_bytes: int,
        next_offset: int,
        *,
        epoch: int,
        end_offset: int | None,
        has_gaps: bool,
    ) -> None:
        """`epoch` is the epoch of the batch before, -1 if there is none or it is not known.

        `end_offset` is the base offset of the next segment, if there is one. `has_gaps`: compaction may have left gaps.
        """
        self._read = read
        self._size_bytes = size_bytes
        self._epoch = epoch
        self._end_offset = end_offset
        self.has_gaps = has_gaps
        """As given, or because of a gap that the batch after it confirms."""
        self.position = position
        self.next_offset = next_offset
        self.reason: str | None = None
        self.bad_header: BatchHeader | None = None
        self.is_zeros = False
        self.behind: tuple[int, int] | None = None
        """The position of the next valid batches, and their offset if known."""

    def __iter__(self) -> Iterator[Confirmed]:
        scan = BatchScan(self._read, self.position, self._size_bytes, self.next_offset, check_crc=True)
        held: Confirmed | None = None
        for position, header in scan:
            content = scan.batch(header) if header.is_control else b""
            found = Confirmed(position, header, content)
            if held is not None:
                if max(0, self._epoch) <= header.leader_epoch < held.header.leader_epoch:
                    # Either may be the bad one.
                    behind = position + header.size_bytes, header.next_offset
                    self._stop_at(held, _wrong_epoch(held.header), behind)
                    return
                self._pass(held)
                yield held
            if 0 <= header.leader_epoch < self._epoch:
                self._stop_at(found, _wrong_epoch(header), None)
                return
            held = found
        if held is not None:
            if self._is_contradicted(held, scan):
                return
            self._pass(held)
            yield held
        self.reason, self.bad_header, self.is_zeros = scan.reason, scan.bad_header, scan.is_zeros

    def _is_contradicted(self, last: Confirmed, scan: BatchScan) -> bool:
        """Whether the bytes after the last batch, or the end of the data there, contradict its offset."""
        header = last.header
        wrong_offset = f"offset {header.base_offset} where {self.next_offset} belongs"
        following = None if scan.reason is None else sound_header(self._read, scan.position, self._size_bytes)
        if following is not None and self.next_offset < following.base_offset < header.next_offset:
            self._stop_at(last, wrong_offset, (scan.position, following.base_offset))
        elif self._end_offset is not None and header.next_offset > self._end_offset:
            self._stop_at(last, wrong_offset, (last.position + header.size_bytes, self._end_offset))
        elif not self.has_gaps and (header.base_offset ^ self.next_offset).bit_count() == 1:
            self._stop_at(last, wrong_offset, None)
            self.bad_header = header
        return self.reason is not None

    def _pass(self, batch: Confirmed) -> None:
        header = batch.header
        self.has_gaps = self.has_gaps or header.base_offset > self.next_offset
        self.position = batch.position + header.size_bytes
        self.next_offset = header.next_offset
        self._epoch = max(self._epoch, header.leader_epoch)

    def _stop_at(self, batch: Confirmed, reason: str, behind: tuple[int, int] | None) -> None:
        self.position = batch.position
        self.reason = reason
        self.behind = behind


def _wrong_epoch(header: BatchHeader) -> str:
    return f"leader epoch {header.leader_epoch}, which the batches around it contradict"


OnDamage = Callable[[int, int], None]
"""Called with the offset that could not be read, and the next readable one: `LONG_MAX` for none."""


def _ignore(_offset: int, _next_offset: int) -> None:
    pass


def sound_batches(
    read: Read, position: int, size_bytes: int, next_offset: int, on_damage: OnDamage = _ignore
) -> Iterator[Confirmed]:
    """All batches that can be relied on, with whatever lies between them skipped."""
    while True:
        scan = ConfirmedScan(
            read, position, size_bytes, next_offset, epoch=-1, end_offset=None, has_gaps=True
        )
        yield from scan
        if scan.reason is None:
            return
        behind = scan.behind or next_sound_batch(
            read, scan.position, size_bytes, scan.next_offset, LONG_MAX, bad_header=scan.bad_header
        )
        on_damage(scan.next_offset, LONG_MAX if behind is None else behind[1])
        if behind is None:
            return
        position, next_offset = behind


def find_cut(
    read: Read, position: int, size_bytes: int, base_offset: int, offset: int
) -> tuple[int, int] | None:
    """Find where to cut a segment so that nothing reaches `offset`: position and offset of the first batch or damage.

    None when nothing has to be cut. `position` is where the index says to begin; there may be no batch there at all.
    """
    begin, next_offset = position, base_offset
    while True:
        scan = ConfirmedScan(
            read, position, size_bytes, next_offset, epoch=-1, end_offset=None, has_gaps=True
        )
        for batch in scan:
            if batch.header.next_offset > offset:
                return batch.position, batch.header.base_offset
        if scan.reason is None:
            return None
        if scan.position == begin > 0:  # the offset that belongs there is unknown: scan from the start
            begin, position, next_offset = 0, 0, base_offset
            continue
        behind = scan.behind or next_sound_batch(
            read, scan.position, size_bytes, scan.next_offset, LONG_MAX, bad_header=scan.bad_header
        )
        if behind is None or behind[1] > offset:
            return scan.position, scan.next_offset
        position, next_offset = behind
