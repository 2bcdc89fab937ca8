from penstock.groups.base.instant import Instant
from penstock.groups.base.timers import NEVER, Awaited, MemberTimers


def at(ms: int) -> Instant:
    return Instant(float(ms), ms)


def test_a_member_that_misses_any_deadline_is_overdue() -> None:
    timers = MemberTimers()
    timers.start("a", Awaited.HEARTBEAT, at(0), 100)
    timers.start("a", Awaited.REVOCATION, at(0), 50)
    timers.start("b", Awaited.HEARTBEAT, at(0), 100)

    assert timers.wake_at_ms == 50
    assert timers.overdue(49) == []
    assert timers.overdue(50) == ["a"]
    assert timers.wake_at_ms == 100


def test_a_stopped_timer_does_not_expire() -> None:
    timers = MemberTimers()
    timers.start("a", Awaited.SYNC, at(0), 100)
    timers.stop("a", Awaited.SYNC)
    timers.stop("unknown", Awaited.SYNC)

    assert timers.overdue(1000) == []
    assert timers.wake_at_ms == NEVER


def test_a_running_timer_is_not_extended_by_start_if_stopped() -> None:
    timers = MemberTimers()
    timers.start_if_stopped("a", Awaited.JOIN, at(0), 100)
    timers.start_if_stopped("a", Awaited.JOIN, at(50), 100)

    assert timers.overdue(100) == ["a"]


def test_the_timers_of_a_removed_member_do_not_expire() -> None:
    timers = MemberTimers()
    timers.start("a", Awaited.HEARTBEAT, at(0), 100)
    timers.remove("a")

    assert timers.overdue(100) == []
