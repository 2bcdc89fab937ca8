"""Opens a log: reads its files, and after a crash determines how much of them is valid.

After a clean stop everything is as the checkpoint says, and hardly a file is touched. After any other stop:
1. everything below the recovery point was made durable and is not read;
2. from there on every batch is checked; at the first torn batch, the file is truncated and later segments removed;
3. indexes, leader epochs and producers are brought up to date from the batches checked;
4. everything retained is written once more and synced: a kill, or a failed sync before it, leaves it in the
   page cache only.
Corruption below the recovery point is reported and left as it is: that is damage, not a torn tail. So are records that
were committed when the high watermark was last checkpointed, if valid batches follow them: they were durable then, and
other replicas have them. The producer state that depends on them is unverified until they are repaired: see
`producers.state`.

Records that were durable and are gone are missing, see `missing`: after a clean stop the records that it listed, and
after any other stop the records at the end that the checkpoints vouch for.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from penstock.config.topic import TopicConfig
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.batch_scan import BatchScan
from penstock.storage.compaction import swap
from penstock.storage.damage.confirmed_scan import sound_batches
from penstock.storage.damage.damage import Damage, Loss
from penstock.storage.errors import LogCorrupt
from penstock.storage.file_cache import FileCache, LogFileCache
from penstock.storage.files import FileSystem, end_of_data, read_whole
from penstock.storage.leader_epochs import CorruptCheckpoint, LeaderEpochs, decode_checkpoint
from penstock.storage.log.values import LEADER_EPOCHS, LoadedLog
from penstock.storage.producers.aborted_transactions import changed_indexes, rebuild_indexes_of
from penstock.storage.producers.snapshot_files import SnapshotFiles
from penstock.storage.producers.state import EXPIRATION_MS_DEFAULT, ProducerStates
from penstock.storage.recovery.inventory import LogInventory
from penstock.storage.recovery.missing import find_gaps, find_shortfall, find_shortfall_before, restore_shape
from penstock.storage.recovery.segment_recovery import SegmentRecovery, note_epoch
from penstock.storage.segment.segment import LOG, Segment, is_segment

_TEMPORARY = ".tmp"
_LEFTOVERS = (swap.CLEANED, swap.SWAP, swap.DELETED, _TEMPORARY)

_LEFT_SEGMENTS_MAX = 3  # a sync holds all of them open at once, and many syncs run concurrently

_log = logging.getLogger(__name__)


class Checkpointed(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of one log in the data directory's checkpoints."""

    was_clean: bool
    recovery_point: int | None = None
    log_start_offset: int = 0
    committed_offset: int = 0
    """Everything below was durable, but is not known to be checked."""
    expected: LogInventory | None = None
    """The log at the last stop, if that was a clean one."""
    has_gaps: bool = False
    """Whether compaction may have left gaps."""
    journaled: tuple[tuple[int, int], ...] = ()
    """The offset ranges of records in the journal, ascending; each has a first offset and an exclusive end offset."""
    journal_start: int | None = None
    """The first record that the journal has, or had. Records from here on may not be durable in the segments."""
    journal_end: int = 0
    """The journal had records up to here, though some of them are damaged."""


def create_log(
    cache: FileCache,
    directory: str,
    config: TopicConfig,
    *,
    producer_expiration_ms: int = EXPIRATION_MS_DEFAULT,
) -> LoadedLog:
    """Files of a new log. Durable after a sync of the directory and of the one above it."""
    log_cache = cache.for_log()
    segment = Segment.create(log_cache, directory, 0, config.index_interval_bytes)
    return LoadedLog(
        cache=log_cache,
        clean_offset=0,
        segments=[segment],
        log_start_offset=0,
        log_end_offset=0,
        durable_offset=0,
        recovery_point=0,
        producers=ProducerStates(expiration_ms=producer_expiration_ms),
        epochs=LeaderEpochs(),
        snapshots=SnapshotFiles(log_cache.files, directory),
    )


def load_log(
    cache: FileCache,
    directory: str,
    config: TopicConfig,
    checkpointed: Checkpointed,
    now_ms: int,
    *,
    producer_expiration_ms: int = EXPIRATION_MS_DEFAULT,
    defer_syncs: bool = False,
    on_lost_end: Callable[[Damage], None] | None = None,
) -> LoadedLog:
    """Open the log in `directory`. Waits for the disk, after a crash for as long as recovery takes.

    `on_lost_end` is called before the log continues after lost records: in a compacted log the gap proves nothing from
    then on. With `defer_syncs`, records that recovery has found above the recovery point become durable with the log's
    next sync, so that the syncs of many logs can run concurrently. This does not apply if they are in more files than a
    sync should hold open.
    """
    producers = ProducerStates(expiration_ms=producer_expiration_ms)
    loader = _Loader(cache.for_log(), directory, config, checkpointed, now_ms, producers)
    loader.on_lost_end = on_lost_end
    loaded = loader.load()
    if loaded.unsynced and not (defer_syncs and len(loaded.unsynced) <= _LEFT_SEGMENTS_MAX):
        loader.sync(loaded)
    return loaded


class _Loader:
    """One opening of one log."""

    def __init__(  # noqa: PLR0917 - the parameters of `load_log`
        self,
        cache: LogFileCache,
        directory: str,
        config: TopicConfig,
        checkpointed: Checkpointed,
        now_ms: int,
        producers: ProducerStates,
    ) -> None:
        self._cache = cache
        self._expected = checkpointed.expected
        self._files: FileSystem = cache.files
        self._directory = directory
        self._config = config
        self._checkpointed = checkpointed
        self._now_ms = now_ms
        self._damage: list[str] = []
        self._damaged: list[Damage] = []
        self._losses: list[Loss] = []
        self.on_lost_end: Callable[[Damage], None] | None = None
        self._has_lost_records = False
        self._cut_reason: str | None = None
        self._has_news = False
        """Whether a segment was removed."""
        self._unsynced: list[Segment] = []
        self._producers = producers
        self._epochs = LeaderEpochs()
        self._segments: list[Segment] = []
        self._snapshots = SnapshotFiles(self._files, directory)

    def load(self) -> LoadedLog:
        names = self._resolve_leftovers()
        self._snapshots = SnapshotFiles(self._files, self._directory, names)
        self._find_segments(names)
        expected = self._expected
        log_start = max(
            self._checkpointed.log_start_offset,
            self._segments[0].base_offset,
            0 if expected is None else expected.start_offset,
        )
        has_epochs = LEADER_EPOCHS in names and self._load_epochs()
        point = self._checkpointed.recovery_point if expected is None else expected.end_offset
        if self._checkpointed.was_clean and point is not None and self._ends_at(point):
            end_offset = point
            self._restore_producers(log_start, end_offset)
            self._restore_aborted(log_start, end_offset)
        else:
            point = max(point or 0, self._segments[0].base_offset)
            end_offset = self._recover(log_start, point)
        if end_offset < log_start:
            self._start_over(end_offset, log_start)
            end_offset = log_start
        if not has_epochs and point > self._segments[0].base_offset:  # else recovery has seen all of them
            self._collect_epochs()
        if self._losses:
            self._note_losses()
        self._epochs.truncate_from_end(end_offset)
        self._epochs.truncate_from_start(log_start)
        self._epochs.is_saved = False
        return LoadedLog(
            cache=self._cache,
            segments=self._segments,
            log_start_offset=log_start,
            log_end_offset=end_offset,
            durable_offset=min(max(point, log_start), end_offset) if self._unsynced else end_offset,
            unsynced=tuple(self._unsynced),
            recovery_point=min(point, end_offset),
            producers=self._producers,
            epochs=self._epochs,
            snapshots=self._snapshots,
            damage=tuple(self._damage),
            damaged=tuple(self._damaged),
            losses=tuple(self._losses),
            has_lost_records=self._has_lost_records,
            names_are_synced=self._checkpointed.was_clean and not self._losses,
        )

    # -- reading the directory ------------------------------------------------------------------------

    def _resolve_leftovers(self) -> list[str]:
        """The names in the directory, after leftovers of an interrupted run were completed or removed."""
        names = self._files.list(self._directory)
        if not any(name.endswith(_LEFTOVERS) for name in names):
            return names
        try:
            replaced = swap.resolve(self._files, self._directory)
        except CorruptRecords as error:
            raise LogCorrupt(f"an interrupted compaction cannot be completed: {error}") from error
        if self._expected is not None:
            self._expected = self._expected.without(replaced)
        for name in names:
            if name.endswith(_TEMPORARY):
                self._files.remove(f"{self._directory}/{name}")
        return self._files.list(self._directory)

    def _find_segments(self, names: Sequence[str]) -> None:
        """All segments; an empty segment between others was left by an interrupted roll, and would hide records."""
        interval_bytes = self._config.index_interval_bytes
        expected = self._expected
        listed = {} if expected is None else dict(expected.segments)
        bases = sorted(int(name[: -len(LOG)]) for name in names if is_segment(name))
        for number, base in enumerate(bases):
            size_bytes = self._files.size(f"{self._directory}/{base:020d}{LOG}")
            segment = Segment(self._cache, self._directory, base, size_bytes, interval_bytes)
            if size_bytes == 0 and 0 < number < len(bases) - 1 and not listed.get(base):
                self._remove(segment, "it is empty")
            else:
                self._segments.append(segment)
        if expected is not None:
            shape = restore_shape(self._cache, self._directory, self._segments, expected, interval_bytes)
            self._segments = shape.segments
            self._losses = shape.losses
        if not self._segments:
            start = self._checkpointed.log_start_offset
            self._segments.append(Segment.create(self._cache, self._directory, start, interval_bytes))
            self._files.sync_dir(self._directory)

    def _ends_at(self, end_offset: int) -> bool:
        """Whether a log that was closed at `end_offset` can look like this."""
        last = self._segments[-1]
        if last.size_bytes == 0 and last.base_offset < end_offset and len(self._segments) > 1:
            self._remove(self._segments.pop(), "it was left by an interrupted roll")
            last = self._segments[-1]
        return last.base_offset == end_offset if last.size_bytes == 0 else last.base_offset < end_offset

    def _load_epochs(self) -> bool:
        path = f"{self._directory}/{LEADER_EPOCHS}"
        try:
            self._epochs = LeaderEpochs(decode_checkpoint(read_whole(self._files, path)))
        except CorruptCheckpoint as error:
            _log.warning("Ignored %s (%s): rebuilding the leader epochs from the log", path, error)
            return False
        return True

    def _collect_epochs(self) -> None:
        self._epochs.clear()
        for segment in self._segments:
            for _, header in _headers(segment, 0):
                note_epoch(self._epochs, header.leader_epoch, header.base_offset)

    def _restore_producers(self, log_start: int, end_offset: int) -> None:
        """The producers as of `end_offset`."""
        if self._checkpointed.was_clean and not len(self._snapshots):
            self._producers.clear(end_offset)  # a clean stop leaves a snapshot when there are any producers
            return
        self._snapshots.restore(
            self._producers,
            self._segments,
            log_start_offset=log_start,
            end_offset=end_offset,
            now_ms=self._now_ms,
        )

    def _restore_aborted(self, log_start: int, end_offset: int) -> None:
        expected = self._expected
        if expected is not None and expected.aborted:
            changed = changed_indexes(self._files, self._directory, expected.aborted)
            if changed:
                rebuild_indexes_of(changed, self._segments, log_start_offset=log_start, end_offset=end_offset)

    # -- after a crash --------------------------------------------------------------------------------

    def _recover(self, log_start: int, point: int) -> int:
        """Check everything from the recovery point on. Returns the offset at which the log now ends."""
        first = _number_of(self._segments, point)
        if first > 0 and self._segments[first].base_offset == point:
            self._cut_rest(self._segments[first - 1], point)
        # A checkpoint writes the epochs before the recovery point, and a truncation lowers that alone. So epochs from
        # the recovery point on are read from the batches: saved ones would push out those that still hold.
        self._epochs.truncate_from_end(point)
        self._restore_producers(log_start, point)
        committed_offset = self._checkpointed.committed_offset
        if self._checkpointed.journal_start is not None:
            committed_offset = min(committed_offset, self._checkpointed.journal_start)
        recovery = SegmentRecovery(
            self._files,
            self._config,
            self._producers,
            self._epochs,
            point=point,
            committed_offset=committed_offset,
        )
        end_offset = recovery.check(self._segments[first], self._begin_of_next(first))
        vouched_until = point
        if end_offset < point:
            self._require_last(first, end_offset, point)
        for number in range(first + 1, len(self._segments)):
            segment = self._segments[number]
            is_missing = segment.base_offset != end_offset
            if is_missing and (recovery.was_cut or not self._is_compacted_away(end_offset, segment)):
                self._cut_reason = f"it begins at offset {segment.base_offset} where {end_offset} belongs"
                self._remove_from(number)
                break
            if is_missing and self._snapshots.newest is not None:
                vouched_until = self._snapshots.newest
            end_offset = recovery.check(segment, self._begin_of_next(number))
        self._damage += recovery.damage
        self._damaged = recovery.damaged
        self._losses += recovery.losses
        self._write_again(first, recovery)
        newest_snapshot = self._snapshots.newest
        # A snapshot that distinguishes gaps from losses stays until the recovery point is above them again.
        self._snapshots.remove_above(vouched_until if vouched_until <= end_offset else point)
        self._find_gaps(log_start, first)
        return self._end_behind_losses(end_offset, point, newest_snapshot)

    def _is_compacted_away(self, end_offset: int, following: Segment) -> bool:
        """Whether records between two segments are missing legitimately, though they lie above the recovery point.

        That is so when the checkpoint file is lost. A snapshot of the producers is written after everything below it is
        durable, and only such records are ever compacted: a gap below it is not a loss.
        """
        newest = self._snapshots.newest
        return newest is not None and end_offset < following.base_offset <= newest

    def _begin_of_next(self, number: int) -> int | None:
        """The base offset of the next segment, if it holds anything."""
        following = self._segments[number + 1 : number + 2]
        return following[0].base_offset if following and following[0].size_bytes else None

    def _cut_rest(self, segment: Segment, point: int) -> None:
        """Cut the bytes after the records in the segment before the recovery point's: unused space, or the rest of a
        refused write. The roll that did so came after the checkpoint, and was not synced with it. Starts at the last
        valid batch: a corrupt batch before it may seem to end at or after the recovery point.
        """
        position = segment.indexes().offsets.position_before(point - 1)
        file = segment.file()
        for batch in sound_batches(file.read, position, end_of_data(file, position), segment.base_offset):
            if batch.header.base_offset < point:
                position = batch.position
        scan = _headers(segment, position)
        for _, header in scan:
            if header.base_offset >= point:
                break
        if scan.reason is None or scan.is_zeros or scan.next_offset == point:
            segment.shrink_to(scan.position)
            segment.rewrite_from(scan.position)  # even if the length looks right: see there
            segment.file().sync()

    def _require_last(self, number: int, end_offset: int, point: int) -> None:
        if number + 1 < len(self._segments) and self._segments[number + 1].size_bytes:
            raise LogCorrupt(
                f"{self._directory} ends at offset {end_offset}, but everything below {point} was durable, and later "
                f"segments are there. Nothing was removed: restore {self._segments[number].log_path} from another "
                "replica or a backup"
            )

    def _find_gaps(self, log_start: int, first: int) -> None:
        """Look for gaps below the recovery point. Those above it were found while checking."""
        if self._checkpointed.has_gaps or "compact" in self._config.cleanup_policy:
            return
        known = {each.damage.base_offset for each in self._losses}
        gaps = find_gaps(self._segments[: first + 1], log_start)
        self._losses += [each for each in gaps if each.damage.base_offset not in known]

    def _end_behind_losses(self, end_offset: int, point: int, newest_snapshot: int | None) -> int:
        """The end of the log: the offset of a lost record is never assigned to another record."""
        following = next((base for base, end in self._checkpointed.journaled if end > end_offset), None)
        shortfall: Loss | str | None
        if following is None and self._checkpointed.journal_end > end_offset:
            following = self._checkpointed.journal_end
        if following is not None:
            shortfall = find_shortfall_before(self._segments[-1], end_offset, following)
        else:
            committed_offset = self._checkpointed.committed_offset
            shortfall = find_shortfall(
                self._segments[-1], end_offset, point, committed_offset, newest_snapshot
            )
        if shortfall is None:
            return end_offset
        self._has_lost_records = True
        if isinstance(shortfall, str):
            self._damage.append(shortfall)
            _log.error(
                "Lost records: %s, unless the checkpoint is damaged. New records get these offsets again",
                shortfall,
            )
            return end_offset
        self._losses.append(shortfall)
        if self.on_lost_end is not None:
            self.on_lost_end(shortfall.damage)
        next_offset = shortfall.damage.next_offset
        self._segments.append(
            Segment.create(self._cache, self._directory, next_offset, self._config.index_interval_bytes)
        )
        return next_offset

    def _note_losses(self) -> None:
        self._has_lost_records = True
        self._damage += [f"{each.path} {each.what}" for each in self._losses]
        self._losses.sort(key=lambda each: each.damage.base_offset)
        self._damaged = sorted(
            [*self._damaged, *(each.damage for each in self._losses)], key=lambda each: each.base_offset
        )

    def _remove_from(self, number: int) -> None:
        for segment in self._segments[number:]:
            self._remove(segment, self._cut_reason or "")
        del self._segments[number:]

    def _remove(self, segment: Segment, reason: str) -> None:
        self._has_news = True
        _log.warning("Removed %s: %s. bytes=%d", segment.log_path, reason, segment.size_bytes)
        for path in segment.rename_as_deleted():
            self._files.remove(path)

    def _start_over(self, end_offset: int, log_start: int) -> None:
        """All remaining records are below the log's start: begin an empty segment there."""
        self._cut_reason = f"the log starts at offset {log_start} and these end at {end_offset}"
        self._remove_from(0)
        self._unsynced = []
        self._segments.append(
            Segment.create(self._cache, self._directory, log_start, self._config.index_interval_bytes)
        )
        self._files.sync_dir(self._directory)
        self._producers.end_offset = log_start

    def _write_again(self, first: int, recovery: SegmentRecovery) -> None:
        """Rewrite the records above the recovery point, to be synced: after a kill they may be in memory only."""
        if not (self._has_news or recovery.has_news):
            # Nothing to sync, unless the file's length was set and not synced: left to the next sync.
            self._segments[first].rewrite_from(self._segments[first].size_bytes)
            self._segments[first].release()
            return
        positions = dict(recovery.checked)
        for segment in self._segments[first:]:
            segment.rewrite_from(positions[segment])
            if segment is not self._segments[-1]:
                segment.seal()
        self._unsynced = self._segments[first:]

    def sync(self, loaded: LoadedLog) -> None:
        """Sync the records that `load` has left unsynced."""
        for segment in loaded.unsynced:
            segment.file().sync()
        self._files.sync_dir(self._directory)
        loaded.unsynced = ()
        loaded.durable_offset = loaded.log_end_offset


def _number_of(segments: Sequence[Segment], offset: int) -> int:
    return max(0, bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1)


def _headers(segment: Segment, position: int) -> BatchScan:
    return BatchScan(segment.file().read, position, segment.size_bytes, segment.base_offset, check_crc=False)
