"""The limit of failed logins of an address."""

from penstock.runtime.clock import ManualClock
from penstock.security import login_limit
from penstock.security.login_limit import FAILURES_MAX, LoginLimit


def test_an_address_may_fail_ten_times_and_then_once_in_six_seconds() -> None:
    clock = ManualClock()
    limit = LoginLimit(clock)
    assert [limit.begin("a") for _ in range(FAILURES_MAX)] == [0.0] * FAILURES_MAX
    assert limit.begin("a") == 6_000
    assert limit.begin("b") == 0
    clock.advance(2_000)
    assert limit.begin("a") == 4_000
    clock.advance(4_000)
    assert [limit.begin("a"), limit.begin("a")] == [0, 6_000]
    clock.advance(120_000)
    assert [limit.begin("a") for _ in range(FAILURES_MAX)] == [0.0] * FAILURES_MAX


def test_a_login_that_succeeds_does_not_count() -> None:
    limit = LoginLimit(ManualClock())
    for _ in range(FAILURES_MAX * 3):
        assert limit.begin("a") == 0
        limit.succeeded("a")
    assert [limit.begin("a") for _ in range(FAILURES_MAX)] == [0.0] * FAILURES_MAX
    assert limit.begin("a") > 0


def test_the_address_that_expires_first_is_evicted() -> None:
    limit = LoginLimit(ManualClock())
    for _ in range(FAILURES_MAX):
        limit.begin("guesser")
    for number in range(login_limit._ADDRESSES_MAX * 2):
        assert limit.begin(str(number)) == 0
    assert limit.begin("guesser") > 0
    assert len(limit._forgotten_at_ms) == login_limit._ADDRESSES_MAX
