"""`penstock log verify`: find every place of a partition whose bytes are not those that were written.

The checksum of a batch covers neither its base offset nor its length, leader epoch and magic byte. These are checked
against the batches around it, and against the checkpoints of the directory. After damage the check goes on at the next
valid batch.

A broker may be appending to the newest segment. Its preallocated zeros are not damage then, and neither is a partial
batch at the very end; anything else is reported only if a second check finds it too.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Final

from penstock.cli.data_directory import Damage, Partition, Segment, is_zero_from
from penstock.config.topic import LONG_MAX
from penstock.protocol.records.batch import NO_LEADER_EPOCH, BatchHeader
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.storage.cleaner.cleaner import CHECKPOINT as CLEANER_OFFSETS
from penstock.storage.damage.confirmed_scan import Confirmed, ConfirmedScan
from penstock.storage.damage.damage import Read, next_sound_batch, sound_header
from penstock.storage.damage.unfinished_tail import is_unfinished
from penstock.storage.directory.checkpoints import (
    RECOVERY_POINTS,
    CorruptCheckpointFile,
    PartitionName,
    read_offsets,
)
from penstock.storage.files import RealFileSystem, read_whole
from penstock.storage.leader_epochs import CorruptCheckpoint, LeaderEpochs, decode_checkpoint
from penstock.storage.log.values import LEADER_EPOCHS

_SECOND_CHECK_AFTER_S: Final = 0.2


class PartitionCheck:
    """Iterates over the damage of one partition; counts the batches and bytes that it reads."""

    def __init__(
        self,
        partition: Partition,
        *,
        is_being_written: bool,
        is_deep: bool,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`pause` is called between two checks of a segment of a broker that runs."""
        self._partition = partition
        self._is_being_written = is_being_written
        self._is_deep = is_deep
        self._pause = pause
        self.batch_count = 0
        self.size_bytes = 0

    def __iter__(self) -> Iterator[Damage]:
        found = list(self._find())
        if found and self._is_being_written:
            self._pause(_SECOND_CHECK_AFTER_S)
            self.batch_count = self.size_bytes = 0
            places = {(each.file, each.position) for each in found}
            found = [each for each in self._find() if (each.file, each.position) in places]
        yield from found

    def _find(self) -> Iterator[Damage]:
        segments = self._partition.segments
        checkpoints = _Checkpoints(self._partition)
        next_offset, epoch = -1, NO_LEADER_EPOCH
        for number, segment in enumerate(segments):
            if segment.base_offset < next_offset:
                reason = f"the segment before it goes on to offset {next_offset - 1}"
                yield Damage(file=segment.path, position=0, offset=segment.base_offset, reason=reason)
            following = segments[number + 1] if number + 1 < len(segments) else None
            check = _SegmentCheck(
                segment,
                following,
                checkpoints,
                epoch,
                is_being_written=self._is_being_written and following is None,
                is_deep=self._is_deep,
            )
            try:
                yield from check
            except FileNotFoundError:  # retention has deleted it
                continue
            except OSError as error:
                reason = f"cannot be read: {error.strerror}"
                yield Damage(file=segment.path, position=0, offset=segment.base_offset, reason=reason)
                continue
            self.batch_count += check.batch_count
            self.size_bytes += check.size_bytes
            next_offset, epoch = check.next_offset, check.epoch


class _Checkpoints:
    """The checkpoints of a log. A file that is missing or damaged is ignored."""

    def __init__(self, partition: Partition) -> None:
        files, above = RealFileSystem(), os.path.dirname(os.path.abspath(partition.path))
        name = PartitionName(partition.topic, partition.partition)

        def offsets_in(file: str) -> dict[PartitionName, int]:
            try:
                return read_offsets(files, f"{above}/{file}") or {}
            except (CorruptCheckpointFile, OSError):
                return {}

        # In this order: the epochs are written before the recovery point moves.
        self.recovery_point = offsets_in(RECOVERY_POINTS).get(name, 0)
        """All offsets below were durable."""
        self.has_gaps = name in offsets_in(CLEANER_OFFSETS)
        """Whether compaction may have removed records. A gap elsewhere in the log shows that, too."""
        try:
            content = read_whole(files, f"{partition.path}/{LEADER_EPOCHS}")
            self._epochs = LeaderEpochs(decode_checkpoint(content))
        except (CorruptCheckpoint, OSError):
            self._epochs = LeaderEpochs()

    def contradict(self, batch: Confirmed) -> str | None:
        epoch, offset = batch.header.leader_epoch, batch.header.base_offset
        saved = self._epochs.epoch_for(offset) if offset < self.recovery_point else None
        if epoch < NO_LEADER_EPOCH or (saved is not None and epoch not in (saved, NO_LEADER_EPOCH)):
            return f"leader epoch {epoch}" + ("" if saved is None else f" where {saved} belongs")
        return None


class _SegmentCheck:
    """Iterates over the damage of one segment; counts the batches and bytes that it reads."""

    def __init__(
        self,
        segment: Segment,
        following: Segment | None,
        checkpoints: _Checkpoints,
        epoch: int,
        *,
        is_being_written: bool,
        is_deep: bool,
    ) -> None:
        """`epoch` is that of the batch before."""
        self._segment = segment
        self._following = following
        self._end_offset = None if following is None else following.base_offset
        self._checkpoints = checkpoints
        self._is_being_written = is_being_written
        self._is_deep = is_deep
        self._last: tuple[Confirmed, int, int] | None = None
        """The last batch, its expected offset, and the epoch of the batches before."""
        self.next_offset = segment.base_offset
        self.epoch = epoch
        self.batch_count = 0
        self.size_bytes = 0

    def __iter__(self) -> Iterator[Damage]:
        file = RealFileSystem().open(self._segment.path, writable=False)
        try:
            yield from self._check(file.read, file.size())
        finally:
            file.close()

    def _check(self, read: Read, size_bytes: int) -> Iterator[Damage]:
        following: tuple[int, int] | None = 0, self._segment.base_offset
        while following is not None:
            position, self.next_offset = following
            scan = ConfirmedScan(
                read,
                position,
                size_bytes,
                self.next_offset,
                epoch=self.epoch,
                end_offset=None,
                has_gaps=self._checkpoints.has_gaps,
            )
            yield from self._batches(scan, read)
            self._checkpoints.has_gaps = scan.has_gaps
            if scan.reason is None:
                break
            following = scan.behind or next_sound_batch(
                read,
                scan.position,
                size_bytes,
                self.next_offset,
                LONG_MAX if self._end_offset is None else self._end_offset,
                bad_header=scan.bad_header,
            )
            reason = self._reason_of(scan, read, size_bytes) if following is None else scan.reason
            if reason is None:
                break
            yield self._damage(scan.position, self.next_offset, reason)
            self._last = None
        yield from self._end()

    def _batches(self, scan: ConfirmedScan, read: Read) -> Iterator[Damage]:
        for batch in scan:
            header = batch.header
            self.batch_count += 1
            self.size_bytes += header.size_bytes
            problem = self._checkpoints.contradict(batch) or (
                self._problem_in(batch, read) if self._is_deep else None
            )
            self._last = batch, self.next_offset, self.epoch
            if problem is None:
                self.epoch = max(self.epoch, header.leader_epoch)
            else:
                yield self._damage(batch.position, header.base_offset, problem)
            self.next_offset = header.next_offset

    @staticmethod
    def _problem_in(batch: Confirmed, read: Read) -> str | None:
        try:
            for _ in iter_records(read(batch.header.size_bytes, batch.position)):
                pass
        except CorruptRecords as error:
            return str(error)
        return None

    def _reason_of(self, scan: ConfirmedScan, read: Read, size_bytes: int) -> str | None:
        """Say why the bytes after the last batch are damage; None when they are not."""
        was_durable = self.next_offset < self._checkpoints.recovery_point
        if is_zero_from(read, scan.position):
            is_missing = self._end_offset is not None and self.next_offset < self._end_offset
            return "zeros where a batch was" if was_durable or is_missing else None
        is_tail = self._is_being_written and not was_durable
        if is_tail and is_unfinished(read, scan.position, size_bytes):
            return None
        return scan.reason

    def _end(self) -> Iterator[Damage]:
        """Only the next segment can contradict the last batch of this one."""
        if self._last is None or self._following is None:
            return
        batch, expected, epoch = self._last
        header, end_offset = batch.header, self._following.base_offset
        if self.next_offset > end_offset and header.base_offset != expected:
            reason = f"offset {header.base_offset} where {expected} belongs"
            yield self._damage(batch.position, expected, reason)
            self.next_offset = end_offset
        following = _first_header(self._following)
        if following is not None and max(0, epoch) <= following.leader_epoch < self.epoch:
            reason = f"leader epoch {header.leader_epoch} before {following.leader_epoch} in the next segment"
            yield self._damage(batch.position, header.base_offset, reason)
            self.epoch = following.leader_epoch

    def _damage(self, position: int, offset: int, reason: str) -> Damage:
        return Damage(file=self._segment.path, position=position, offset=offset, reason=reason)


def _first_header(segment: Segment) -> BatchHeader | None:
    """Read the header of the first batch of a segment, if it is valid."""
    try:
        file = RealFileSystem().open(segment.path, writable=False)
    except FileNotFoundError:  # retention has deleted it
        return None
    try:
        return sound_header(file.read, 0, file.size())
    finally:
        file.close()
