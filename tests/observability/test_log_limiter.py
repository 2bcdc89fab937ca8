from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import ManualClock


def test_a_repeated_message_is_logged_once_per_interval_with_a_count() -> None:
    clock = ManualClock()
    log_limiter = LogLimiter(clock, every_ms=1000)
    assert [log_limiter.times("a"), log_limiter.times("a"), log_limiter.times("a")] == [1, 0, 0]
    assert log_limiter.times("b") == 1
    clock.advance(1000)
    assert log_limiter.times("a") == 3
    assert log_limiter.times("b") == 1


def test_the_memory_of_the_limiter_is_bounded() -> None:
    log_limiter = LogLimiter(ManualClock())
    for number in range(5000):
        assert log_limiter.times(number) == 1
    assert len(log_limiter._logged) <= 1024
