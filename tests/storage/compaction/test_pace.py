import sys
from collections.abc import Callable

import pytest

from penstock.storage.compaction.pace import Pace
from penstock.storage.compaction.rewrite import compact
from tests.storage.segments import job_of, new_disk, write_log

MEGABYTE = 1_000_000


class Time:
    """A clock that only sleeps advance."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now_s += seconds

    @property
    def slept_s(self) -> float:
        return sum(self.naps)


def paced(time: Time, bytes_per_second: Callable[[], float]) -> Pace:
    return Pace(bytes_per_second, now_s=lambda: time.now_s, sleep=time.sleep)


def test_the_sleeps_limit_bytes_to_the_rate() -> None:
    time = Time()
    pace = paced(time, lambda: MEGABYTE)
    for _ in range(10):
        pace.spend(MEGABYTE // 2)
    assert time.slept_s == pytest.approx(5)


def test_working_time_counts_towards_the_rate_and_idle_time_does_not() -> None:
    time = Time()
    pace = paced(time, lambda: MEGABYTE)
    time.now_s += 0.75
    pace.spend(MEGABYTE)
    assert time.slept_s == pytest.approx(0.25)
    time.now_s += 1000
    pace.spend(MEGABYTE)
    pace.spend(MEGABYTE)
    assert time.slept_s == pytest.approx(1.25)


def test_short_sleeps_are_combined() -> None:
    time = Time()
    pace = paced(time, lambda: MEGABYTE)
    for _ in range(1000):
        pace.spend(1000)
    assert time.slept_s == pytest.approx(1, abs=0.05)
    assert min(time.naps) >= 0.05


def test_a_raised_rate_ends_a_long_sleep() -> None:
    time = Time()
    pace = paced(time, lambda: 1.0 if time.now_s < 103 else MEGABYTE)
    pace.spend(MEGABYTE)
    assert 3 <= time.slept_s < 5


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_of_zero_means_one_byte_per_second(rate: float) -> None:
    time = Time()
    paced(time, lambda: rate).spend(10)
    assert time.slept_s == pytest.approx(10)


def test_an_unlimited_rate_needs_no_sleep() -> None:
    time = Time()
    paced(time, lambda: sys.float_info.max).spend(1 << 40)
    assert time.naps == []


def test_the_rate_counts_both_reads_and_the_write_of_a_compaction() -> None:
    disk = new_disk()
    segments = write_log(disk, "a=1 b=1", "a=2|c=1", "b=2")
    spent: list[int] = []
    result = compact(disk, job_of(segments, end=5), spent.append)
    assert sum(spent) == 2 * sum(each.size_bytes for each in segments) + result.bytes_written
