"""Recovers one segment after a crash: keeps valid batches, truncates torn ones, and leaves corrupt ones in place.

See `recovery` for the rules.
"""

import logging

from penstock.config.topic import LONG_MAX, TopicConfig
from penstock.protocol.records.batch import BatchHeader
from penstock.storage.damage.confirmed_scan import Confirmed, ConfirmedScan
from penstock.storage.damage.damage import Damage, Loss, next_sound_batch, sound_header
from penstock.storage.files import FileSystem, end_of_data
from penstock.storage.leader_epochs import LeaderEpochs
from penstock.storage.producers.appends import marker_or_none
from penstock.storage.producers.state import ProducerStates
from penstock.storage.segment.indexes import SegmentIndexes, load_indexes, read_waiting
from penstock.storage.segment.segment import Segment
from penstock.storage.segment.time_index import NO_TIMESTAMP
from penstock.storage.segment.transaction_index import AbortedTransaction

_log = logging.getLogger(__name__)


class SegmentRecovery:
    """Checks the segments of one log in order."""

    def __init__(
        self,
        files: FileSystem,
        config: TopicConfig,
        producers: ProducerStates,
        epochs: LeaderEpochs,
        *,
        point: int,
        committed_offset: int,
    ) -> None:
        """Everything below `point` was checked before; everything below `committed_offset` was durable."""
        self._files = files
        self._config = config
        self._producers = producers
        self._epochs = epochs
        self._point = point
        self._committed_offset = committed_offset
        self.damage: list[str] = []
        self.damaged: list[Damage] = []
        self.losses: list[Loss] = []
        """Records after the last batch that were durable, and are gone."""
        self.checked: list[tuple[Segment, int]] = []
        """The segments that were checked, and from which position on."""
        self.was_cut = False
        self.has_news = False
        """Whether there was anything at or above the recovery point."""

    def check(self, segment: Segment, end_offset: int | None) -> int:
        """Check the batches of a segment that lie at or above the recovery point, and cut it at the first bad one.

        Brings indexes, epochs and producers up to date. Returns the offset after the last valid batch. `end_offset` is
        the base offset of the next segment that holds anything, if there is one.
        """
        point = self._point
        position, next_offset = self._begin(segment, point)
        epoch = self._epochs.epoch_for(next_offset - 1)
        self.checked.append((segment, position))
        # Space preallocated for future batches is not read.
        file_size_bytes = max(position, end_of_data(segment.file(), position))
        segment.shrink_to(position)
        while True:
            scan = ConfirmedScan(
                segment.file().read,
                position,
                file_size_bytes,
                next_offset,
                epoch=-1 if epoch is None else epoch,
                end_offset=end_offset,
                has_gaps="compact" in self._config.cleanup_policy,
            )
            for batch in scan:
                header = batch.header
                segment.note_batch(
                    batch.position, header.size_bytes, header.last_offset, header.max_timestamp
                )
                if header.base_offset >= point:
                    self._take_in(segment, batch)
            position, next_offset = scan.position, scan.next_offset
            if scan.reason is None:
                break
            behind = self._behind(segment, scan, file_size_bytes, end_offset)
            is_rot = next_offset < self._committed_offset and behind is not None
            if not (next_offset < point or is_rot):
                break
            if behind is not None and scan.bad_header is not None and next_offset >= point:
                following = sound_header(segment.file().read, behind[0], file_size_bytes)
                self._note_bad_epoch(scan.bad_header, next_offset, following)
            if behind is None and scan.bad_header is None:
                position, next_offset = self._step_over_end(segment, scan, file_size_bytes)
            else:
                position, next_offset = self._step_over_damage(segment, scan, behind)
            epoch = self._epochs.epoch_for(next_offset - 1)
        if scan.reason is not None:
            self._cut(segment, scan, file_size_bytes)
        self.has_news = self.has_news or scan.reason is not None or next_offset > point
        return next_offset

    def _behind(
        self, segment: Segment, scan: ConfirmedScan, size_bytes: int, end_offset: int | None
    ) -> tuple[int, int] | None:
        """Position and offset of the data after a bad batch, in this segment or as the next; None if nothing follows.

        Also None if all offsets up to the next segment are there: then the bad bytes are no batch.
        """
        if scan.behind is not None:
            return scan.behind
        if end_offset is not None and scan.next_offset >= end_offset:
            return None
        sound = next_sound_batch(
            segment.file().read,
            scan.position,
            size_bytes,
            scan.next_offset,
            LONG_MAX if end_offset is None else end_offset,
            bad_header=scan.bad_header,
        )
        if sound is not None or end_offset is None:
            return sound
        if scan.bad_header is not None:
            end = scan.position + scan.bad_header.size_bytes
            if not any(segment.file().read(size_bytes - end, end)):
                return end, end_offset  # the rest is space that a roll has released
        return size_bytes, end_offset

    def _begin(self, segment: Segment, point: int) -> tuple[int, int]:
        """The position to begin checking: at `point`, if the index leads there, else at the segment's first byte."""
        base_offset = segment.base_offset
        if point > base_offset:
            indexes = load_indexes(segment.index_source(), read_waiting)
            position = -1 if indexes is None else _position_of(segment, indexes, point)
            if indexes is not None and position >= 0:
                indexes.truncate_to(point)
                indexes.catch_up(segment.file().read, base_offset, position)
                segment.reset_indexes(indexes)
                return position, point
            _log.info(
                "Scanning all of %s: it has no index entry for the recovery point. offset=%d",
                segment.log_path,
                point,
            )
        indexes = SegmentIndexes.empty(base_offset, self._config.index_interval_bytes)
        indexes.take_transactions(self._files, segment.path(""), below_offset=point)
        segment.reset_indexes(indexes)
        return 0, base_offset

    def _take_in(self, segment: Segment, batch: Confirmed) -> None:
        header = batch.header
        note_epoch(self._epochs, header.leader_epoch, header.base_offset)
        if not header.has_producer_id:
            return
        marker = marker_or_none(header, batch.content) if header.is_control else None
        completed = self._producers.replay(header, marker)
        if completed is not None and completed.is_aborted:
            segment.note_aborted(AbortedTransaction.of(completed))

    def _note_bad_epoch(self, bad_header: BatchHeader, offset: int, following: BatchHeader | None) -> None:
        """A leader epoch may begin with a damaged batch. It is corrupt, too, unless the epochs around it allow it."""
        latest_epoch = self._epochs.latest_epoch
        epoch_min = -1 if latest_epoch is None else latest_epoch
        if following is not None and epoch_min <= bad_header.leader_epoch <= following.leader_epoch:
            note_epoch(self._epochs, bad_header.leader_epoch, offset)

    def _step_over_damage(
        self, segment: Segment, scan: ConfirmedScan, behind: tuple[int, int] | None
    ) -> tuple[int, int]:
        """Continue after a bad batch that was durable."""
        what = f"{segment.log_path} is damaged at byte {scan.position} (offset {scan.next_offset}): {scan.reason}"
        header = scan.bad_header
        position, next_offset = behind or self._end_of_damage(scan)
        timestamp = NO_TIMESTAMP if header is None else header.max_timestamp
        segment.note_batch(scan.position, position - scan.position, next_offset - 1, timestamp)
        if next_offset > self._point:
            self._producers.mark_unverified(max(scan.next_offset, self._point))
        _log.error("Found damaged records, which are not served: %s", what)
        self.damage.append(what)
        self.damaged.append(
            Damage(
                segment=segment.base_offset,
                position=scan.position,
                size_bytes=position - scan.position,
                base_offset=scan.next_offset,
                next_offset=next_offset,
            )
        )
        return position, next_offset

    def _end_of_damage(self, scan: ConfirmedScan) -> tuple[int, int]:
        """Nothing follows: the durable records end after the bad batch, whose header says where that is."""
        header = scan.bad_header
        assert header is not None
        end_offset = min(header.next_offset, max(self._point, scan.next_offset + 1))
        return scan.position + header.size_bytes, end_offset

    def _step_over_end(self, segment: Segment, scan: ConfirmedScan, size_bytes: int) -> tuple[int, int]:
        """No readable batch follows up to the end of the file: the rest of the durable records is missing.

        The bytes are kept, and the log continues after them.
        """
        end_offset = max(self._point, scan.next_offset + 1)
        damage = Damage(
            segment=segment.base_offset,
            position=scan.position,
            size_bytes=size_bytes - scan.position,
            base_offset=scan.next_offset,
            next_offset=end_offset,
        )
        segment.note_batch(damage.position, damage.size_bytes, end_offset - 1, NO_TIMESTAMP)
        if end_offset > self._point:
            self._producers.mark_unverified(max(scan.next_offset, self._point))
        what = f"is damaged at byte {scan.position} ({scan.reason}), but everything below {end_offset} was durable"
        self.losses.append(Loss(path=segment.log_path, what=what, damage=damage))
        return size_bytes, end_offset

    def _cut(self, segment: Segment, scan: ConfirmedScan, file_size_bytes: int) -> None:
        """A segment that begins where this one now ends is kept: the truncated bytes were no records of this log, but
        space that a roll had released, or the rest of a refused write.
        """
        self.was_cut = True
        count = file_size_bytes - scan.position
        if scan.is_zeros:
            _log.debug("Truncated unused preallocated bytes of %s. bytes=%d", segment.log_path, count)
        else:
            _log.warning(
                "Truncated %s: incomplete write before a crash: %s. offset=%d bytes=%d",
                segment.log_path,
                scan.reason,
                scan.next_offset,
                count,
            )


def note_epoch(epochs: LeaderEpochs, epoch: int, start_offset: int) -> None:
    if epoch >= 0 and epoch != epochs.latest_epoch:
        epochs.assign(epoch, start_offset)


def _position_of(segment: Segment, indexes: SegmentIndexes, point: int) -> int:
    """The position of the first batch at or above `point`, by the index; -1 if the index does not lead to one.

    The batches on the way are checked: if a corrupt batch seemed to end at `point`, the durable batches after it would
    be cut.
    """
    scan = ConfirmedScan(
        segment.file().read,
        indexes.offsets.position_before(point - 1),
        segment.size_bytes,
        segment.base_offset,
        epoch=-1,
        end_offset=None,
        has_gaps=True,
    )
    next_offset = -1
    for batch in scan:
        if batch.header.base_offset >= point:
            return batch.position if next_offset == point else -1
        next_offset = batch.header.next_offset
    return scan.position if next_offset == point else -1
