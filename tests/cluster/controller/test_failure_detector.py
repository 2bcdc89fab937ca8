from penstock.cluster.controller.failure_detector import FailureDetector

HEARTBEAT_MS = 100


def detector() -> FailureDetector:
    """Watches broker 2, whose last heartbeat was at time 0."""
    found = FailureDetector(lambda _broker_id: HEARTBEAT_MS)
    found.on_registration(2)
    found.on_heartbeat(2, 0)
    return found


def test_a_late_heartbeat_starts_a_probe_that_is_repeated() -> None:
    found = detector()
    assert found.begin_probes(149) == []
    assert found.begin_probes(150) == [2]
    assert not found.is_dead(2, refuses=False)
    assert found.begin_probes(174) == []
    assert found.begin_probes(175) == [2]


def test_a_closed_connection_starts_a_probe_at_once() -> None:
    found = detector()
    found.on_disconnect(2, 10)
    assert found.next_probe_ms == 10
    assert found.begin_probes(10) == [2]


def test_a_new_controller_probes_all_brokers_at_once() -> None:
    found = FailureDetector(lambda _broker_id: HEARTBEAT_MS)
    found.expect(3, 5)
    found.expect(2, 5)
    assert found.begin_probes(5) == [2, 3]


def test_a_broker_that_refuses_connections_is_dead_unless_it_sends_a_heartbeat_during_the_probe() -> None:
    found = detector()
    found.on_disconnect(2, 10)
    found.begin_probes(10)
    found.on_heartbeat(2, 11)
    assert not found.is_dead(2, refuses=True)
    found.on_disconnect(2, 20)
    found.begin_probes(20)
    assert found.is_dead(2, refuses=True)
    assert found.next_probe_ms is None


def test_a_live_broker_that_refused_a_probe_is_not_probed_again_until_it_reregisters() -> None:
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


def test_the_closed_connection_of_a_broker_that_may_stop_starts_no_probe() -> None:
    found = detector()
    found.forget(2)
    found.on_disconnect(2, 10)
    assert found.next_probe_ms is None
