"""The loop that tries again."""

import pytest

from penstock.client.blocking.retry import Retry, backoff_ms, until_done
from penstock.client.connection import Disconnected
from penstock.client.errors import TimedOut
from penstock.client.settings import ClientSettings
from tests.client.blocking.clock import TestClock

SETTINGS = ClientSettings(bootstrap_servers=(("broker", 1),), deadline_ms=1000)


def test_waits_double_up_to_a_bound() -> None:
    assert [backoff_ms(n, 100, 1000, 0.5) for n in (1, 2, 3, 4, 5, 99)] == [100, 200, 400, 800, 1000, 1000]
    assert backoff_ms(1, 100, 1000, 0.0) == pytest.approx(80)
    assert backoff_ms(1, 100, 1000, 1.0) == pytest.approx(120)


def test_passing_failures_are_tried_again_with_growing_waits() -> None:
    failures: list[Exception] = [Retry("not yet"), Disconnected("gone"), Retry("not yet")]
    clock = TestClock()

    def attempt() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert until_done("it", attempt, settings=SETTINGS, clock=clock, randomness=lambda: 0.5) == "done"
    assert clock.slept_ms == [100, 200, 400]


def test_the_last_failure_is_told_when_time_is_up() -> None:
    clock = TestClock()

    def attempt() -> None:
        raise Retry(f"failed at {clock.monotonic_ms():.0f}")

    with pytest.raises(TimedOut, match=r"writing did not work in 4 attempts \(broker:1\): failed at 700"):
        until_done("writing", attempt, settings=SETTINGS, clock=clock, randomness=lambda: 0.5)


def test_a_failure_that_does_not_pass_is_raised_at_once() -> None:
    clock = TestClock()

    def attempt() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        until_done("it", attempt, settings=SETTINGS, clock=clock)
    assert clock.slept_ms == []
