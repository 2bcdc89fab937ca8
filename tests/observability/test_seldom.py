from penstock.observability.clock import ManualClock
from penstock.observability.seldom import Seldom


def test_the_same_thing_is_told_once_in_a_while_with_how_often_it_was() -> None:
    clock = ManualClock()
    seldom = Seldom(clock, every_ms=1000)
    assert [seldom.times("a"), seldom.times("a"), seldom.times("a")] == [1, 0, 0]
    assert seldom.times("b") == 1
    clock.advance(1000)
    assert seldom.times("a") == 3
    assert seldom.times("b") == 1


def test_what_it_remembers_is_bounded() -> None:
    seldom = Seldom(ManualClock())
    for number in range(5000):
        assert seldom.times(number) == 1
    assert len(seldom._told) <= 1024
