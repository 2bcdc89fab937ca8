"""Facts about a log that retention and compaction need, looked up as sparingly as the topic's settings allow.

Times of sealed segments may have to come from the disk the first time: a few bytes of an index or a header.
"""

from typing import Protocol

import msgspec

from penstock.config.topic import LONG_MAX
from penstock.protocol.records.batch import HEADER_SIZE, parse_header
from penstock.storage.files import FileSystem
from penstock.storage.log.log import Log
from penstock.storage.retention import LogFacts, SegmentFacts
from penstock.storage.segment.segment import Segment

NO_TIMESTAMP = -1


class CleanedPartition(Protocol):
    """A partition as its replica on this broker knows it."""

    @property
    def is_open(self) -> bool: ...

    @property
    def log(self) -> Log:
        """Opened if need be. Raises `LogError` or `OSError`."""
        ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def last_stable_offset(self) -> int: ...


def retention_facts(partition: CleanedPartition, now_ms: int) -> LogFacts:
    """Times are looked up oldest first, and only until one is young enough to stay: the rest count as new."""
    config = partition.log.config
    is_by_age = "delete" in config.cleanup_policy and config.retention_ms >= 0
    segments = []
    for segment in partition.log.segments:
        newest_ms = _newest_ms(partition.log, segment) if is_by_age else now_ms
        is_by_age = is_by_age and now_ms - newest_ms > config.retention_ms
        segments.append(_facts(segment, newest_ms=newest_ms))
    return _log_facts(partition, segments)


def compaction_facts(partition: CleanedPartition) -> LogFacts:
    config = partition.log.config
    needs_newest = config.min_compaction_lag_ms > 0
    needs_oldest = config.max_compaction_lag_ms < LONG_MAX
    segments = []
    for segment in partition.log.segments[:-1]:
        newest_ms = _newest_ms(partition.log, segment) if needs_newest else 0
        oldest_ms = _oldest_ms(segment) if needs_oldest else NO_TIMESTAMP
        segments.append(_facts(segment, newest_ms=newest_ms, oldest_ms=oldest_ms))
    segments.append(_facts(partition.log.segments[-1], newest_ms=0))
    facts = _log_facts(partition, segments)
    damage = next(iter(partition.log.damaged), None)
    if damage is None:
        return facts
    # Damaged or missing records may be repaired later: until then nothing from there on is compacted.
    return msgspec.structs.replace(
        facts, last_stable_offset=min(facts.last_stable_offset, damage.base_offset)
    )


def with_index_sizes(files: FileSystem, segment: Segment) -> SegmentFacts:
    """For putting segments together, which is limited by the size of an index too."""
    return SegmentFacts(
        base_offset=segment.base_offset,
        size_bytes=segment.size_bytes,
        largest_timestamp_ms=0,
        index_size_bytes=_size_or_zero(files, segment.path(".index")),
        time_index_size_bytes=_size_or_zero(files, segment.path(".timeindex")),
    )


def _log_facts(partition: CleanedPartition, segments: list[SegmentFacts]) -> LogFacts:
    log = partition.log
    return LogFacts(
        segments=tuple(segments),
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
    )


def _facts(segment: Segment, *, newest_ms: int, oldest_ms: int = NO_TIMESTAMP) -> SegmentFacts:
    return SegmentFacts(
        base_offset=segment.base_offset,
        size_bytes=segment.size_bytes,
        largest_timestamp_ms=newest_ms,
        first_timestamp_ms=oldest_ms,
    )


def _newest_ms(log: Log, segment: Segment) -> int:
    newest_ms = segment.max_timestamp()
    return newest_ms if newest_ms >= 0 else log.files.modified_ms(segment.log_path)


def _oldest_ms(segment: Segment) -> int:
    if segment.size_bytes < HEADER_SIZE:
        return NO_TIMESTAMP
    return parse_header(segment.file().read(HEADER_SIZE, 0)).max_timestamp


def _size_or_zero(files: FileSystem, path: str) -> int:
    return files.size(path) if files.exists(path) else 0
