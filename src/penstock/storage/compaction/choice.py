"""Which part of a log compaction may touch, whether it is worth it, and how segments are grouped. No I/O.

From the first dirty offset (where the last compaction stopped) up to the first uncleanable offset, which is the
least of: the active segment, the last stable offset, and the first segment with records younger than
`min.compaction.lag.ms`. A log is compacted when its dirty share exceeds `min.cleanable.dirty.ratio`, or when its
oldest dirty records have waited longer than `max.compaction.lag.ms` (KIP-354).
"""

from collections.abc import Sequence

import msgspec

from penstock.config.topic import TopicConfig
from penstock.storage.retention import LogFacts, SegmentFacts

RELATIVE_OFFSET_MAX = 2**31 - 1


class Cleanable(msgspec.Struct, frozen=True, kw_only=True):
    """The cleanable part of one log."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    """The base offset of the first segment that must stay as it is."""
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total_bytes if total_bytes else 0.0

    def is_due(self, config: TopicConfig) -> bool:
        if self.dirty_bytes == 0:
            return False
        return self.is_overdue or self.dirty_ratio > config.min_cleanable_dirty_ratio


def assess(log: LogFacts, config: TopicConfig, checkpoint_offset: int | None, now_ms: int) -> Cleanable:
    first_dirty = _first_dirty_offset(log, checkpoint_offset)
    dirty = _from_offset(log.segments, first_dirty)[:-1]
    uncleanable = min(log.last_stable_offset, log.active.base_offset)
    if config.min_compaction_lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp_ms > now_ms - config.min_compaction_lag_ms:
                uncleanable = min(uncleanable, segment.base_offset)
                break
    first_uncleanable = _segment_start(log, max(first_dirty, uncleanable))
    return Cleanable(
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=first_uncleanable,
        clean_bytes=sum(s.size_bytes for s in log.segments if s.base_offset < first_dirty),
        dirty_bytes=sum(s.size_bytes for s in dirty if s.base_offset < first_uncleanable),
        is_overdue=_is_overdue(dirty, config, now_ms),
    )


def _first_dirty_offset(log: LogFacts, checkpoint_offset: int | None) -> int:
    """A checkpoint outside the log is invalid: begin at the log's start."""
    if checkpoint_offset is None or not log.log_start_offset <= checkpoint_offset <= log.log_end_offset:
        return log.log_start_offset
    return checkpoint_offset


def _from_offset(segments: Sequence[SegmentFacts], offset: int) -> Sequence[SegmentFacts]:
    """The segment that holds `offset` and all after it."""
    first = 0
    for index, segment in enumerate(segments):
        if segment.base_offset > offset:
            break
        first = index
    return segments[first:]


def _segment_start(log: LogFacts, offset: int) -> int:
    """The base offset of the segment that holds `offset`."""
    found = log.segments[0].base_offset
    for segment in log.segments:
        if segment.base_offset > offset:
            break
        found = segment.base_offset
    return found


def _is_overdue(dirty: Sequence[SegmentFacts], config: TopicConfig, now_ms: int) -> bool:
    oldest_ms = min((s.first_timestamp_ms for s in dirty if s.first_timestamp_ms > 0), default=None)
    return oldest_ms is not None and oldest_ms < now_ms - max(0, config.max_compaction_lag_ms)


def group_segments(
    segments: Sequence[SegmentFacts],
    *,
    segment_bytes_max: int,
    index_bytes_max: int,
    first_uncleanable_offset: int,
) -> list[list[SegmentFacts]]:
    """Neighbours that together still make one segment, so that compacted segments do not stay tiny."""
    groups: list[list[SegmentFacts]] = []
    for position, segment in enumerate(segments):
        is_last = position + 1 == len(segments)
        end = first_uncleanable_offset if is_last else segments[position + 1].base_offset
        if groups and _fits(groups[-1], segment, end, segment_bytes_max, index_bytes_max):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _fits(
    group: list[SegmentFacts], segment: SegmentFacts, end: int, segment_bytes_max: int, index_bytes_max: int
) -> bool:
    together = [*group, segment]
    return (
        sum(s.size_bytes for s in together) <= segment_bytes_max
        and sum(s.index_size_bytes for s in together) <= index_bytes_max
        and sum(s.time_index_size_bytes for s in together) <= index_bytes_max
        and (segment.size_bytes == 0 or end - 1 - group[0].base_offset <= RELATIVE_OFFSET_MAX)
    )
