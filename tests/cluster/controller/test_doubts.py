from penstock.cluster.controller.doubts import Doubts

HEARTBEAT_MS = 100


def doubts() -> Doubts:
    """About broker 2, which was heard of at time 0."""
    found = Doubts(HEARTBEAT_MS)
    found.registers(2)
    found.heard(2, 0)
    return found


def test_a_heartbeat_that_is_late_is_a_reason_to_look_and_to_look_again() -> None:
    found = doubts()
    assert found.begin(149) == []
    assert found.begin(150) == [2]
    assert not found.is_dead(2, refuses=False)
    assert found.begin(174) == []
    assert found.begin(175) == [2]


def test_the_end_of_its_connection_is_a_reason_to_look_at_once() -> None:
    found = doubts()
    found.lost(2, 10)
    assert found.next_ms == 10
    assert found.begin(10) == [2]


def test_a_new_controller_looks_at_everybody_at_once() -> None:
    found = Doubts(HEARTBEAT_MS)
    found.expect(3, 5)
    found.expect(2, 5)
    assert found.begin(5) == [2, 3]


def test_who_refuses_is_dead_unless_it_is_heard_of_meanwhile() -> None:
    found = doubts()
    found.lost(2, 10)
    found.begin(10)
    found.heard(2, 11)
    assert not found.is_dead(2, refuses=True)
    found.lost(2, 20)
    found.begin(20)
    assert found.is_dead(2, refuses=True)
    assert found.next_ms is None


def test_nobody_looks_again_at_a_broker_that_lived_though_it_refused_until_it_registers_anew() -> None:
    found = doubts()
    found.lost(2, 10)
    found.begin(10)
    assert found.is_dead(2, refuses=True)
    found.heard(2, 20)
    found.lost(2, 30)
    assert found.begin(1000) == []
    found.registers(2)
    found.heard(2, 1000)
    found.lost(2, 1010)
    assert found.begin(1010) == [2]


def test_the_connection_of_a_broker_that_may_go_tells_nothing() -> None:
    found = doubts()
    found.forget(2)
    found.lost(2, 10)
    assert found.next_ms is None
