"""Retention: which of a log's oldest segments have outlived their topic's settings. Pure decisions.

Segments go whole and oldest first, for any of four reasons: they lie below the log start offset, the log is
larger than `retention.bytes`, their newest record is older than `retention.ms`, or more closed segments are kept
than `retention.segments` allows. Nothing at or above the high watermark goes. The active segment goes too when
its time is up (or when nothing at all may be kept); the log then rolls first, as Kafka does.
"""

from collections.abc import Sequence

import msgspec

from penstock.config.topic import TopicConfig


class SegmentFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Segment facts used by retention and compaction. The last of a log's segments is active."""

    base_offset: int
    size_bytes: int
    largest_timestamp_ms: int
    """Of its records; when none has a timestamp, the time of the file's last change."""
    first_timestamp_ms: int = -1
    index_size_bytes: int = 0
    time_index_size_bytes: int = 0


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A log at one moment, as retention and compaction see it."""

    segments: tuple[SegmentFacts, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int

    @property
    def active(self) -> SegmentFacts:
        return self.segments[-1]

    def end_of(self, index: int) -> int:
        """The offset after the last that segment number `index` can hold."""
        if index + 1 < len(self.segments):
            return self.segments[index + 1].base_offset
        return self.log_end_offset


def count_to_delete(log: LogFacts, config: TopicConfig, now_ms: int) -> int:
    """The number of oldest segments to delete. If that is all of them, the log must roll first."""
    deletable_count = _count_below_high_watermark(log)
    count = _count_below_log_start(log)
    if "delete" in config.cleanup_policy:
        count = max(
            count,
            _count_beyond_bytes(log.segments, config.retention_bytes),
            _count_beyond_age(log.segments, config.retention_ms, now_ms),
            _count_beyond_number(log.segments, config.retention_segments),
        )
    return min(count, deletable_count)


def _count_below_high_watermark(log: LogFacts) -> int:
    """An empty active segment is never deleted: there would only be another one like it."""
    count = 0
    for index, segment in enumerate(log.segments):
        is_empty_active = index == len(log.segments) - 1 and segment.size_bytes == 0
        if is_empty_active or log.end_of(index) > log.high_watermark:
            break
        count += 1
    return count


def _count_below_log_start(log: LogFacts) -> int:
    """The active segment stays even when every record in it was deleted."""
    count = 0
    for following in log.segments[1:]:
        if following.base_offset > log.log_start_offset:
            break
        count += 1
    return count


def _count_beyond_bytes(segments: Sequence[SegmentFacts], retention_bytes: int) -> int:
    if retention_bytes < 0:
        return 0
    excess_bytes = sum(segment.size_bytes for segment in segments) - retention_bytes
    count = 0
    for segment in segments:
        excess_bytes -= segment.size_bytes
        if excess_bytes < 0:
            break
        count += 1
    return count


def _count_beyond_age(segments: Sequence[SegmentFacts], retention_ms: int, now_ms: int) -> int:
    if retention_ms < 0:
        return 0
    count = 0
    for segment in segments:
        if now_ms - segment.largest_timestamp_ms <= retention_ms:
            break
        count += 1
    return count


def _count_beyond_number(segments: Sequence[SegmentFacts], retention_segments: int) -> int:
    """Only closed segments are counted, and only they can go for this reason."""
    if retention_segments < 0:
        return 0
    return max(0, len(segments) - 1 - retention_segments)
