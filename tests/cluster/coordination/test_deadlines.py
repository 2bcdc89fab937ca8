import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

from penstock.cluster.coordination.deadlines import Deadlines
from penstock.runtime.clock import ManualClock


class RecordedDeadlines:
    """Records when each deadline fired, and reschedules it if the test wants that."""

    def __init__(self) -> None:
        self.clock = ManualClock(0)
        self.fired: list[tuple[str, int]] = []
        self.again: dict[str, float] = {}
        self.failing: set[str] = set()
        self.deadlines: Deadlines[str] = Deadlines(self.clock, self._on_deadline)

    def _on_deadline(self, key: str) -> float:
        self.fired.append((key, self.clock.now_ms()))
        if key in self.failing:
            raise ValueError(key)
        return self.again.pop(key, math.inf)

    async def pass_ms(self, delta_ms: int) -> None:
        for _ in range(delta_ms):
            for _ in range(4):  # a task that was woken takes a few turns to sleep again
                await asyncio.sleep(0)
            self.clock.advance(1)
        for _ in range(4):
            await asyncio.sleep(0)


def run(scenario: Callable[[RecordedDeadlines], Coroutine[Any, Any, None]]) -> RecordedDeadlines:
    async def play() -> RecordedDeadlines:
        recorded = RecordedDeadlines()
        await scenario(recorded)
        recorded.deadlines.stop()
        return recorded

    return asyncio.run(play())


def test_deadlines_fire_in_the_order_of_their_times() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        recorded.deadlines.wake_by("late", 30)
        recorded.deadlines.wake_by("early", 10)
        recorded.deadlines.wake_by("between", 20)
        await recorded.pass_ms(40)

    assert run(scenario).fired == [("early", 10), ("between", 20), ("late", 30)]


def test_an_earlier_time_replaces_a_later_one_and_not_the_other_way_round() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        recorded.deadlines.wake_by("a", 20)
        recorded.deadlines.wake_by("a", 10)
        recorded.deadlines.wake_by("a", 30)
        await recorded.pass_ms(40)

    assert run(scenario).fired == [("a", 10)]


def test_a_rescheduled_deadline_fires_again() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        recorded.again["a"] = 25
        recorded.deadlines.wake_by("a", 10)
        await recorded.pass_ms(40)

    assert run(scenario).fired == [("a", 10), ("a", 25)]


def test_a_deadline_in_the_past_fires_at_once() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        await recorded.pass_ms(50)
        recorded.deadlines.wake_by("a", 10)
        await recorded.pass_ms(1)

    assert run(scenario).fired == [("a", 50)]


def test_a_deadline_added_after_all_others_have_fired_fires_too() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        recorded.deadlines.wake_by("a", 5)
        await recorded.pass_ms(10)
        recorded.deadlines.wake_by("b", 15)
        await recorded.pass_ms(10)

    assert run(scenario).fired == [("a", 5), ("b", 15)]


def test_a_failing_callback_does_not_stop_the_others() -> None:
    async def scenario(recorded: RecordedDeadlines) -> None:
        recorded.failing.add("a")
        recorded.deadlines.wake_by("a", 5)
        recorded.deadlines.wake_by("b", 10)
        await recorded.pass_ms(15)

    assert run(scenario).fired == [("a", 5), ("b", 10)]
