from penstock.cluster.controller.failure_detector import FailureDetector

HEARTBEAT_MS = 100


def detector() -> FailureDetector:
    """About broker 2, which was heard of at time 0."""
    found = FailureDetector(HEARTBEAT_MS)
    found.on_registration(2)
    found.on_heartbeat(2, 0)
    return found


def test_a_heartbeat_that_is_late_is_a_reason_to_look_and_to_look_again() -> None:
    found = detector()
    assert found.begin_probes(149) == []
    assert found.begin_probes(150) == [2]
    assert not found.is_dead(2, refuses=False)
    assert found.begin_probes(174) == []
    assert found.begin_probes(175) == [2]


def test_the_end_of_its_connection_is_a_reason_to_look_at_once() -> None:
    found = detector()
    found.on_disconnect(2, 10)
    assert found.next_probe_ms == 10
    assert found.begin_probes(10) == [2]


def test_a_new_controller_looks_at_everybody_at_once() -> None:
    found = FailureDetector(HEARTBEAT_MS)
    found.expect(3, 5)
    found.expect(2, 5)
    assert found.begin_probes(5) == [2, 3]


def test_a_broker_that_refuses_connections_is_dead_unless_it_sends_a_heartbeat_meanwhile() -> None:
    found = detector()
    found.on_disconnect(2, 10)
    found.begin_probes(10)
    found.on_heartbeat(2, 11)
    assert not found.is_dead(2, refuses=True)
    found.on_disconnect(2, 20)
    found.begin_probes(20)
    assert found.is_dead(2, refuses=True)
    assert found.next_probe_ms is None


def test_nobody_looks_again_at_a_broker_that_lived_though_it_refused_until_it_registers_anew() -> None:
    found = detector()
    found.on_disconnect(2, 10)
    found.begin_probes(10)
    assert found.is_dead(2, refuses=True)
    found.on_heartbeat(2, 20)
    found.on_disconnect(2, 30)
    assert found.begin_probes(1000) == []
    found.on_registration(2)
    found.on_heartbeat(2, 1000)
    found.on_disconnect(2, 1010)
    assert found.begin_probes(1010) == [2]


def test_the_connection_of_a_broker_that_may_go_tells_nothing() -> None:
    found = detector()
    found.forget(2)
    found.on_disconnect(2, 10)
    assert found.next_probe_ms is None
