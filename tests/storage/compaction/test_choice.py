import msgspec
import pytest

from penstock.config.topic import TopicConfig
from penstock.storage.compaction.choice import assess, group_segments
from penstock.storage.retention import LogFacts, SegmentFacts

NOW_MS = 1_000_000_000
COMPACT = TopicConfig(cleanup_policy=frozenset({"compact"}))


def segment(
    base: int, size: int = 100, *, oldest_ms: int = 1, newest_ms: int = 1, index: int = 0
) -> SegmentFacts:
    return SegmentFacts(
        base_offset=base,
        size_bytes=size,
        largest_timestamp_ms=newest_ms,
        first_timestamp_ms=oldest_ms,
        index_size_bytes=index,
        time_index_size_bytes=0,
    )


def log_of(
    *segments: SegmentFacts, end: int = 40, start: int = 0, last_stable_offset: int | None = None
) -> LogFacts:
    stable = end if last_stable_offset is None else last_stable_offset
    return LogFacts(
        segments=segments,
        log_start_offset=start,
        log_end_offset=end,
        high_watermark=end,
        last_stable_offset=stable,
    )


FOUR = log_of(segment(0), segment(10), segment(20), segment(30))


def test_all_but_the_active_segment_can_be_cleaned_the_first_time() -> None:
    found = assess(FOUR, COMPACT, None, NOW_MS)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 30)
    assert (found.clean_bytes, found.dirty_bytes, found.dirty_ratio) == (0, 300, 1.0)


def test_cleaning_resumes_at_its_checkpoint() -> None:
    found = assess(FOUR, COMPACT, 20, NOW_MS)
    assert (found.clean_bytes, found.dirty_bytes) == (200, 100)
    assert found.first_dirty_offset == 20


@pytest.mark.parametrize("checkpoint", [3, 41])
def test_a_checkpoint_outside_of_the_log_starts_over_at_the_log_start(checkpoint: int) -> None:
    log = log_of(segment(0), segment(10), segment(20), segment(30), start=5)
    assert assess(log, COMPACT, checkpoint, NOW_MS).first_dirty_offset == 5


def test_nothing_at_or_beyond_the_last_stable_offset_is_touched() -> None:
    log = log_of(segment(0), segment(10), segment(20), segment(30), last_stable_offset=17)
    assert assess(log, COMPACT, None, NOW_MS).first_uncleanable_offset == 10


def test_records_younger_than_the_minimum_lag_are_left_alone() -> None:
    config = msgspec.structs.replace(COMPACT, min_compaction_lag_ms=1000)
    log = log_of(segment(0), segment(10, newest_ms=NOW_MS - 999), segment(20), segment(30))
    found = assess(log, config, None, NOW_MS)
    assert (found.first_uncleanable_offset, found.dirty_bytes) == (10, 100)
    assert assess(log, config, None, NOW_MS + 1).first_uncleanable_offset == 30


def test_a_log_is_due_when_its_dirty_share_exceeds_the_ratio() -> None:
    assert not assess(FOUR, COMPACT, 20, NOW_MS).is_due(COMPACT)
    greedy = msgspec.structs.replace(COMPACT, min_cleanable_dirty_ratio=0.3)
    assert assess(FOUR, greedy, 20, NOW_MS).is_due(greedy)
    assert not assess(FOUR, COMPACT, 30, NOW_MS).is_due(greedy)


def test_a_log_whose_dirty_records_waited_too_long_is_due_whatever_its_ratio() -> None:
    patient = msgspec.structs.replace(COMPACT, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5000)
    log = log_of(segment(0), segment(10), segment(20, oldest_ms=NOW_MS - 5001), segment(30))
    assert assess(log, patient, 20, NOW_MS).is_due(patient)
    assert not assess(log, patient, 20, NOW_MS - 1).is_due(patient)
    assert not assess(log, patient, 30, NOW_MS).is_due(patient)


def bases(groups: list[list[SegmentFacts]]) -> list[list[int]]:
    return [[s.base_offset for s in group] for group in groups]


def test_neighbours_are_grouped_up_to_the_size_of_a_segment() -> None:
    segments = [segment(0, 60), segment(10, 40), segment(20, 1), segment(30, 150), segment(40, 10)]
    groups = group_segments(segments, segment_bytes_max=100, index_bytes_max=100, first_uncleanable_offset=50)
    assert bases(groups) == [[0, 10], [20], [30], [40]]


def test_groups_respect_the_size_of_an_index() -> None:
    segments = [segment(0, index=6), segment(10, index=6), segment(20, index=4)]
    groups = group_segments(segments, segment_bytes_max=1000, index_bytes_max=10, first_uncleanable_offset=30)
    assert bases(groups) == [[0], [10, 20]]


def test_a_group_never_spans_more_offsets_than_an_index_can_hold() -> None:
    far = 2**31
    segments = [segment(0), segment(far - 10), segment(far + 10, 0), segment(far + 20)]
    groups = group_segments(
        segments, segment_bytes_max=10_000, index_bytes_max=100, first_uncleanable_offset=far + 50
    )
    assert bases(groups) == [[0], [far - 10, far + 10, far + 20]]
