"""The delays between attempts, and the loop that repeats them."""

from collections.abc import Callable

import pytest

from penstock.client.blocking.client import BlockingClient
from penstock.client.core.backoff import Backoff, backoff_ms
from penstock.client.errors import Disconnected, Retry, TimedOut
from penstock.client.settings import ClientSettings
from tests.client.blocking.clock import TestClock

SETTINGS = ClientSettings(bootstrap_servers=(("broker", 1),), deadline_ms=1000)


def raising(*failures: Exception) -> Callable[[], str]:
    left = list(failures)

    def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


def test_delays_double_up_to_a_bound() -> None:
    assert [backoff_ms(n, 100, 1000, 0.5) for n in (1, 2, 3, 4, 5, 99)] == [100, 200, 400, 800, 1000, 1000]
    assert backoff_ms(1, 100, 1000, 0.0) == pytest.approx(80)
    assert backoff_ms(1, 100, 1000, 1.0) == pytest.approx(120)


def test_retriable_failures_are_retried_with_growing_delays() -> None:
    clock = TestClock()
    attempt = raising(Retry("not yet"), Disconnected("gone"), Retry("not yet"))
    assert BlockingClient(SETTINGS, clock=clock).until_done("it", attempt) == "done"
    assert clock.slept_ms == [pytest.approx(delay_ms, rel=0.2) for delay_ms in (100, 200, 400)]


def test_the_last_failure_is_reported_at_the_deadline() -> None:
    clock = TestClock()
    backoff = Backoff("writing", SETTINGS, clock.monotonic_ms, randomness=lambda: 0.5)
    with pytest.raises(TimedOut, match=r"writing failed in 4 attempts \(broker:1\): failed at 700"):
        while True:
            clock.sleep(backoff.delay_after(Retry(f"failed at {clock.monotonic_ms():.0f}")))


def test_a_success_resets_the_deadline_and_the_delays() -> None:
    clock = TestClock()
    backoff = Backoff("reading", SETTINGS, clock.monotonic_ms, randomness=lambda: 0.5)
    for _ in range(3):
        clock.sleep(backoff.delay_after(Retry("not yet")))
    backoff.reset()
    assert backoff.delay_after(Retry("not yet")) == 100


def test_a_permanent_failure_is_raised_at_once() -> None:
    clock = TestClock()
    with pytest.raises(KeyError):
        BlockingClient(SETTINGS, clock=clock).until_done("it", raising(KeyError("bug")))
    assert clock.slept_ms == []
