import asyncio

import pytest

from penstock.embedded.clock import ClusterTime

HOUR_MS = 3_600_000


def test_a_sleeper_wakes_when_the_clock_passes_its_deadline() -> None:
    async def sleep() -> float:
        time = ClusterTime()
        clock = time.clock()
        began_ms = clock.monotonic_ms()
        sleeping = asyncio.create_task(clock.sleep(HOUR_MS))
        await asyncio.sleep(0)
        time.advance(HOUR_MS)
        await asyncio.wait_for(sleeping, 10)
        return clock.monotonic_ms() - began_ms

    assert asyncio.run(sleep()) >= HOUR_MS


def test_a_sleeper_that_is_not_due_keeps_sleeping() -> None:
    async def sleep() -> bool:
        time = ClusterTime()
        clock = time.clock()
        sleeping = asyncio.create_task(clock.sleep(HOUR_MS))
        await asyncio.sleep(0)
        time.advance(HOUR_MS / 2)
        for _ in range(10):
            await asyncio.sleep(0)
        is_asleep = not sleeping.done()
        time.advance(HOUR_MS / 2)
        await asyncio.wait_for(sleeping, 10)
        return is_asleep

    assert asyncio.run(sleep())


def test_time_passes_without_being_advanced() -> None:
    async def sleep() -> float:
        clock = ClusterTime().clock()
        began_ms = clock.monotonic_ms()
        await clock.sleep(1)
        await clock.sleep(0)
        return clock.monotonic_ms() - began_ms

    assert asyncio.run(sleep()) >= 1


def test_all_clocks_of_a_cluster_move_together() -> None:
    time = ClusterTime()
    one, other = time.clock(), time.clock()
    before_ms = one.now_ms()
    time.advance(HOUR_MS)
    assert one.now_ms() - before_ms >= HOUR_MS
    assert abs(one.now_ms() - other.now_ms()) < HOUR_MS


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go backwards"):
        ClusterTime().advance(-1)
