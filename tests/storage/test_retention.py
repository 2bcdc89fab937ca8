import pytest

from penstock.config.topic import TopicConfig
from penstock.storage.retention import LogFacts, SegmentFacts, count_to_delete

HOUR_MS = 3_600_000
NOW_MS = 1_000 * HOUR_MS


def log_of(
    *segments: tuple[int, int, float],
    end: int,
    log_start_offset: int = 0,
    high_watermark: int | None = None,
) -> LogFacts:
    """Segments as (base offset, size in bytes, age of the newest record in hours)."""
    return LogFacts(
        segments=tuple(
            SegmentFacts(base_offset=base, size_bytes=size, largest_timestamp_ms=int(NOW_MS - age * HOUR_MS))
            for base, size, age in segments
        ),
        log_start_offset=log_start_offset,
        log_end_offset=end,
        high_watermark=end if high_watermark is None else high_watermark,
        last_stable_offset=end,
    )


def settings(
    *,
    retention_ms: int = -1,
    retention_bytes: int = -1,
    retention_segments: int = -1,
    policy: frozenset[str] = frozenset({"delete"}),
) -> TopicConfig:
    return TopicConfig(
        cleanup_policy=policy,
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        retention_segments=retention_segments,
    )


FOUR = log_of((0, 100, 9), (10, 100, 7), (20, 100, 3), (30, 50, 0), end=35)


def test_no_segment_is_deleted_without_a_limit() -> None:
    assert count_to_delete(FOUR, settings(), NOW_MS) == 0


@pytest.mark.parametrize(("hours", "count"), [(10, 0), (9, 0), (8, 1), (5, 2), (1, 3)])
def test_segments_are_deleted_when_their_newest_record_is_older_than_retention_ms(
    hours: int, count: int
) -> None:
    assert count_to_delete(FOUR, settings(retention_ms=hours * HOUR_MS), NOW_MS) == count


def test_an_expired_segment_after_a_younger_one_is_kept() -> None:
    log = log_of((0, 100, 1), (10, 100, 9), (20, 0, 0), end=20)
    assert count_to_delete(log, settings(retention_ms=5 * HOUR_MS), NOW_MS) == 0


def test_the_active_segment_is_deleted_too_when_all_of_it_has_expired() -> None:
    log = log_of((0, 100, 9), (10, 100, 8), end=20)
    assert count_to_delete(log, settings(retention_ms=HOUR_MS), NOW_MS) == 2


def test_an_empty_active_segment_is_never_deleted() -> None:
    log = log_of((0, 100, 9), (10, 0, 9), end=10)
    assert count_to_delete(log, settings(retention_ms=HOUR_MS), NOW_MS) == 1


@pytest.mark.parametrize(
    ("kept_bytes", "count"), [(351, 0), (350, 0), (251, 0), (250, 1), (150, 2), (50, 3), (0, 4)]
)
def test_the_oldest_segments_are_deleted_while_the_log_stays_at_or_above_retention_bytes(
    kept_bytes: int, count: int
) -> None:
    assert count_to_delete(FOUR, settings(retention_bytes=kept_bytes), NOW_MS) == count


@pytest.mark.parametrize(("kept_segments", "count"), [(4, 0), (3, 0), (2, 1), (1, 2), (0, 3)])
def test_retention_segments_counts_closed_segments_and_never_deletes_the_active_one(
    kept_segments: int, count: int
) -> None:
    assert count_to_delete(FOUR, settings(retention_segments=kept_segments), NOW_MS) == count


@pytest.mark.parametrize(("log_start_offset", "count"), [(0, 0), (9, 0), (10, 1), (29, 2), (30, 3), (35, 3)])
def test_segments_wholly_below_the_log_start_are_deleted_but_never_the_active_one(
    log_start_offset: int, count: int
) -> None:
    log = log_of(
        (0, 100, 0), (10, 100, 0), (20, 100, 0), (30, 50, 0), end=35, log_start_offset=log_start_offset
    )
    assert count_to_delete(log, settings(), NOW_MS) == count


def test_nothing_at_or_above_the_high_watermark_is_deleted() -> None:
    log = log_of((0, 100, 9), (10, 100, 9), (20, 100, 9), end=30, high_watermark=15)
    assert count_to_delete(log, settings(retention_ms=0), NOW_MS) == 1


def test_of_a_compacted_topic_only_segments_below_the_log_start_are_deleted() -> None:
    log = log_of((0, 100, 9), (10, 100, 9), (20, 100, 9), end=30, log_start_offset=10)
    only_compact = settings(retention_ms=0, retention_bytes=0, policy=frozenset({"compact"}))
    assert count_to_delete(log, only_compact, NOW_MS) == 1
    both = settings(retention_ms=0, policy=frozenset({"compact", "delete"}))
    assert count_to_delete(log, both, NOW_MS) == 3


def test_the_strictest_limit_decides() -> None:
    config = settings(retention_ms=8 * HOUR_MS, retention_bytes=150, retention_segments=3)
    assert count_to_delete(FOUR, config, NOW_MS) == 2
