import pytest

from penstock.cluster.controller.heartbeats import (
    BrokerCondition,
    Heartbeat,
    HeartbeatAction,
    Sessions,
    decide_heartbeat,
)

FENCED = BrokerCondition(is_fenced=True, is_draining=False, registered_at=10, has_leaderships=False)
ACTIVE = BrokerCondition(is_fenced=False, is_draining=False, registered_at=10, has_leaderships=True)
DRAINING = BrokerCondition(is_fenced=False, is_draining=True, registered_at=10, has_leaderships=True)
DRAINED = BrokerCondition(is_fenced=False, is_draining=True, registered_at=10, has_leaderships=False)


@pytest.mark.parametrize(
    ("condition", "wanted", "has_drained", "verdict"),
    [
        (FENCED, Heartbeat(metadata_offset=9), True, HeartbeatAction.STAY),
        (FENCED, Heartbeat(metadata_offset=10), True, HeartbeatAction.UNFENCE),
        (FENCED, Heartbeat(metadata_offset=10, wants_fence=True), True, HeartbeatAction.STAY),
        (FENCED, Heartbeat(metadata_offset=10, wants_shutdown=True), True, HeartbeatAction.STOP),
        (ACTIVE, Heartbeat(metadata_offset=10), True, HeartbeatAction.STAY),
        (ACTIVE, Heartbeat(metadata_offset=10, wants_fence=True), True, HeartbeatAction.FENCE),
        (
            ACTIVE,
            Heartbeat(metadata_offset=10, wants_fence=True, wants_shutdown=True),
            True,
            HeartbeatAction.STOP,
        ),
        (ACTIVE, Heartbeat(metadata_offset=10, wants_shutdown=True), True, HeartbeatAction.DRAIN),
        (DRAINING, Heartbeat(metadata_offset=10, wants_shutdown=True), True, HeartbeatAction.STAY),
        (DRAINED, Heartbeat(metadata_offset=10, wants_shutdown=True), False, HeartbeatAction.STAY),
        (DRAINED, Heartbeat(metadata_offset=10, wants_shutdown=True), True, HeartbeatAction.STOP),
    ],
)
def test_the_answer_to_a_heartbeat_depends_on_the_state_of_the_broker_and_its_request(
    condition: BrokerCondition, wanted: Heartbeat, has_drained: bool, verdict: HeartbeatAction
) -> None:
    assert decide_heartbeat(condition, wanted, has_drained=has_drained) is verdict


def test_a_broker_without_a_heartbeat_expires_after_its_session_timeout() -> None:
    sessions = Sessions(timeout_ms=lambda _broker_id: 100)
    assert sessions.next_expiry_ms() is None
    sessions.record_heartbeat(1, 0, 5)
    sessions.record_heartbeat(2, 50, 5)
    assert sessions.next_expiry_ms() == 100
    assert sessions.expired(99) == []
    assert sessions.expired(100) == [1]
    assert sessions.expired(200) == [1, 2]
    sessions.record_heartbeat(1, 120, 5)
    assert sessions.expired(150) == [2]
    sessions.forget(2)
    assert sessions.expired(1000) == [1]


def test_brokers_may_have_sessions_of_different_lengths() -> None:
    sessions = Sessions(timeout_ms={1: 100, 2: 900}.__getitem__)
    sessions.record_heartbeat(1, 10, 5)
    sessions.record_heartbeat(2, 0, 5)
    assert sessions.next_expiry_ms() == 110
    assert sessions.expired(500) == [1]
    assert sessions.is_alive(2, 899)
    assert sessions.expired(900) == [2, 1]


def test_a_broker_known_from_the_metadata_has_one_session_timeout_for_its_first_heartbeat() -> None:
    sessions = Sessions(timeout_ms=lambda _broker_id: 100)
    sessions.expect(1, 1000)
    sessions.expect(1, 1050)
    assert sessions.is_alive(1, 1099)
    assert sessions.expired(1100) == [1]


def test_a_broker_has_drained_when_the_others_know_the_new_leaders() -> None:
    sessions = Sessions(timeout_ms=lambda _broker_id: 100)
    sessions.record_heartbeat(1, 0, 5)
    sessions.record_heartbeat(2, 0, 5)
    sessions.draining(1, 20)
    assert not sessions.has_drained(1)
    sessions.record_heartbeat(2, 10, 20)
    assert sessions.has_drained(1)
