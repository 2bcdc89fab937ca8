"""The damaged ranges of a log: additions, removals, and the notification of each change."""

from collections.abc import Callable

import pytest

from penstock.storage.damage.damage import Damage
from penstock.storage.damage.ranges import DamagedRanges


def damage(base_offset: int, next_offset: int, segment: int = 0) -> Damage:
    size_bytes = (next_offset - base_offset) * 10
    return Damage(
        segment=segment,
        position=(base_offset - segment) * 10,
        size_bytes=size_bytes,
        base_offset=base_offset,
        next_offset=next_offset,
    )


FIRST, SECOND, THIRD = damage(2, 4), damage(6, 7), damage(12, 13, segment=10)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda ranges: ranges.remove(SECOND), [FIRST, THIRD]),
        (lambda ranges: ranges.truncate_to(7), [FIRST, SECOND]),
        (lambda ranges: ranges.truncate_to(3), []),
        (lambda ranges: ranges.start_at(4), [SECOND, THIRD]),
        (lambda ranges: ranges.start_at(3), [FIRST, SECOND, THIRD]),
        (lambda ranges: ranges.set_found(0, [SECOND]), [SECOND, THIRD]),
        (lambda ranges: ranges.set_found(0, [FIRST, SECOND]), [FIRST, SECOND, THIRD]),
        (lambda ranges: ranges.clear(), []),
    ],
)
def test_each_change_leaves_the_expected_ranges_and_is_notified(
    change: Callable[[DamagedRanges], None], left: list[Damage]
) -> None:
    changes = []
    ranges = DamagedRanges([THIRD, FIRST, SECOND], lambda: changes.append(list(ranges)))
    change(ranges)
    assert list(ranges) == left
    assert changes == ([] if left == [FIRST, SECOND, THIRD] else [left])


def test_only_ranges_within_the_log_are_kept() -> None:
    ranges = DamagedRanges([FIRST])
    beyond_the_file, of_no_segment = damage(8, 9), damage(25, 26, segment=20)
    ranges.remember([damage(3, 5), SECOND, beyond_the_file, THIRD, of_no_segment], {0: 80, 10: 50}, 0, 26)
    assert list(ranges) == [FIRST, SECOND, THIRD]
    again = DamagedRanges()
    again.remember([FIRST, SECOND, THIRD], {0: 80, 10: 50}, 4, 12)
    assert list(again) == [SECOND]


@pytest.mark.parametrize(
    ("segment", "offset", "bounds"),
    [(0, 0, (0, 20)), (0, 4, (40, 60)), (0, 8, (70, None)), (10, 11, (0, 20)), (20, 25, (0, None))],
)
def test_undamaged_batches_separate_the_damaged_ranges(
    segment: int, offset: int, bounds: tuple[int, int | None]
) -> None:
    assert DamagedRanges([FIRST, SECOND, THIRD]).bounds(segment, offset) == bounds
