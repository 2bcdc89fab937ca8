import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from penstock.cluster.coordination.deadlines import Deadlines
from penstock.runtime.clock import ManualClock


class Bell:
    """Deadlines that write down when they were called, and ask to be called again where a test wants it."""

    def __init__(self) -> None:
        self.clock = ManualClock(0)
        self.rung: list[tuple[str, int]] = []
        self.again: dict[str, float] = {}
        self.failing: set[str] = set()
        self.deadlines: Deadlines[str] = Deadlines(self.clock, self._ring)

    def _ring(self, key: str) -> float:
        self.rung.append((key, self.clock.now_ms()))
        if key in self.failing:
            raise ValueError(key)
        return self.again.pop(key, math.inf)

    async def pass_ms(self, delta_ms: int) -> None:
        for _ in range(delta_ms):
            for _ in range(4):  # whoever was woken takes a few turns to sleep again
                await asyncio.sleep(0)
            self.clock.advance(1)
        for _ in range(4):
            await asyncio.sleep(0)


def run(story: Callable[[Bell], Coroutine[Any, Any, None]]) -> Bell:
    async def tell() -> Bell:
        bell = Bell()
        await story(bell)
        bell.deadlines.stop()
        return bell

    return asyncio.run(tell())


def test_keys_are_called_in_the_order_of_their_times() -> None:
    async def story(bell: Bell) -> None:
        bell.deadlines.wake_by("late", 30)
        bell.deadlines.wake_by("early", 10)
        bell.deadlines.wake_by("between", 20)
        await bell.pass_ms(40)

    assert run(story).rung == [("early", 10), ("between", 20), ("late", 30)]


def test_an_earlier_time_replaces_a_later_one_and_not_the_other_way_round() -> None:
    async def story(bell: Bell) -> None:
        bell.deadlines.wake_by("a", 20)
        bell.deadlines.wake_by("a", 10)
        bell.deadlines.wake_by("a", 30)
        await bell.pass_ms(40)

    assert run(story).rung == [("a", 10)]


def test_a_callback_that_asks_for_it_is_called_again() -> None:
    async def story(bell: Bell) -> None:
        bell.again["a"] = 25
        bell.deadlines.wake_by("a", 10)
        await bell.pass_ms(40)

    assert run(story).rung == [("a", 10), ("a", 25)]


def test_a_time_that_has_passed_is_called_at_once() -> None:
    async def story(bell: Bell) -> None:
        await bell.pass_ms(50)
        bell.deadlines.wake_by("a", 10)
        await bell.pass_ms(1)

    assert run(story).rung == [("a", 50)]


def test_the_sleeper_starts_again_after_it_ran_out_of_times() -> None:
    async def story(bell: Bell) -> None:
        bell.deadlines.wake_by("a", 5)
        await bell.pass_ms(10)
        bell.deadlines.wake_by("b", 15)
        await bell.pass_ms(10)

    assert run(story).rung == [("a", 5), ("b", 15)]


def test_one_that_fails_does_not_stop_the_others() -> None:
    async def story(bell: Bell) -> None:
        bell.failing.add("a")
        bell.deadlines.wake_by("a", 5)
        bell.deadlines.wake_by("b", 10)
        await bell.pass_ms(15)

    assert run(story).rung == [("a", 5), ("b", 10)]
