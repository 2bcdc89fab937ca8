"""Static members (KIP-345): they rejoin without a rebalance, and no other member can take their place."""

from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.leave_group import MemberIdentity
from tests.groups.classic.driver import DELAY_MS, REBALANCE_MS, SESSION_MS, Driver

INSTANCES = {"a": "one", "b": "two"}


def stable() -> Driver:
    return Driver().stable("a", "b", instance_ids=INSTANCES)


def test_a_static_member_returns_without_a_rebalance_and_keeps_its_assignment() -> None:
    driver = stable()

    ticket = driver.join(new_id="b2", instance_id="two")

    assert driver.joined(ticket).generation_id == 1
    assert driver.joined(ticket).member_id == "b2"
    assert driver.group.state is State.STABLE
    assert driver.synced(driver.sync("b2", instance_id="two")).assignment == b"b"


def test_a_returning_static_member_is_answered_when_its_id_is_committed() -> None:
    driver = stable()
    driver.stores_at_once = False

    ticket = driver.join(new_id="b2", instance_id="two")

    assert driver.answer(ticket) is None
    assert [m.member_id for m in driver.stores[0].value.members] == ["a", "b2"]
    driver.store_next()
    assert not driver.error(ticket)


def test_a_static_member_whose_id_was_not_committed_retries() -> None:
    driver = stable()
    driver.stores_at_once = False
    ticket = driver.join(new_id="b2", instance_id="two")

    driver.store_next(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    assert driver.error(ticket) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_returning_static_leader_keeps_the_assignment() -> None:
    driver = stable()

    answer = driver.joined(driver.join(new_id="a2", instance_id="one"))

    assert answer.skip_assignment
    assert answer.leader == "a2"
    assert [m.member_id for m in answer.members] == ["b", "a2"]


def test_an_older_static_leader_gets_its_former_id_as_leader() -> None:
    driver = stable()

    answer = driver.joined(driver.join(new_id="a2", instance_id="one", may_skip_assignment=False))

    assert not answer.skip_assignment
    assert (answer.leader, answer.members) == ("a", [])


def test_the_former_member_id_of_a_static_member_is_fenced_by_every_request() -> None:
    driver = stable()
    driver.join(new_id="b2", instance_id="two")

    assert driver.heartbeat("b", instance_id="two") is ErrorCode.FENCED_INSTANCE_ID
    assert driver.error(driver.join("b", instance_id="two")) is ErrorCode.FENCED_INSTANCE_ID
    assert driver.error(driver.sync("b", instance_id="two")) is ErrorCode.FENCED_INSTANCE_ID
    assert driver.leave(MemberIdentity(member_id="b", group_instance_id="two")) == [
        ErrorCode.FENCED_INSTANCE_ID
    ]


def test_a_pending_join_of_a_replaced_static_member_is_fenced() -> None:
    driver = stable()
    waiting = driver.join("b", instance_id="two", protocols={"range": b"new"})

    driver.join(new_id="b2", instance_id="two", protocols={"range": b"new"})

    assert driver.error(waiting) is ErrorCode.FENCED_INSTANCE_ID


def test_a_pending_sync_of_a_replaced_static_member_is_fenced() -> None:
    driver = Driver()
    driver.join(new_id="a", instance_id="one")
    driver.join(new_id="b", instance_id="two")
    driver.advance(2 * DELAY_MS)
    waiting = driver.sync("b", instance_id="two")

    driver.join(new_id="b2", instance_id="two")

    assert driver.error(waiting) is ErrorCode.FENCED_INSTANCE_ID
    assert driver.group.state is State.PREPARING_REBALANCE


def test_a_static_member_that_changes_the_protocol_triggers_a_rebalance() -> None:
    driver = Driver()
    for member_id, instance_id in INSTANCES.items():
        driver.join(new_id=member_id, instance_id=instance_id, protocols={"range": b"", "sticky": b""})
    driver.advance(2 * DELAY_MS)
    driver.sync_all()

    ticket = driver.join(new_id="b2", instance_id="two", protocols={"sticky": b""})

    assert driver.answer(ticket) is None
    assert driver.group.state is State.PREPARING_REBALANCE


def test_an_unknown_instance_is_an_unknown_member() -> None:
    driver = stable()

    assert driver.heartbeat("a", instance_id="three") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_is_removed_by_its_instance_id_alone() -> None:
    driver = stable()

    assert driver.leave(MemberIdentity(group_instance_id="two")) == [ErrorCode.NONE]
    assert driver.leave(MemberIdentity(group_instance_id="two")) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert list(driver.group.members) == ["a"]


def test_a_static_member_that_misses_a_rebalance_stays_until_its_session_times_out() -> None:
    driver = Driver()
    driver.join(new_id="a", instance_id="one", session_ms=10 * REBALANCE_MS)
    driver.join(new_id="b", instance_id="two", session_ms=10 * REBALANCE_MS)
    driver.advance(2 * DELAY_MS)
    driver.sync_all()

    ticket = driver.join("a", instance_id="one", session_ms=10 * REBALANCE_MS)
    driver.advance(REBALANCE_MS)

    assert driver.joined(ticket).generation_id == 2
    assert set(driver.group.members) == {"a", "b"}


def test_a_group_whose_static_members_all_miss_the_rebalance_waits_until_they_expire() -> None:
    driver = Driver()
    driver.join(new_id="a", instance_id="one", session_ms=REBALANCE_MS + 5000)
    driver.join(new_id="b", instance_id="two", session_ms=REBALANCE_MS + 5000)
    driver.join(new_id="c")
    driver.advance(2 * DELAY_MS)
    driver.sync_all()
    driver.advance(SESSION_MS)  # c falls silent
    assert driver.heartbeat("a", instance_id="one") is ErrorCode.REBALANCE_IN_PROGRESS

    driver.advance(REBALANCE_MS + 5000)

    assert driver.group.state is State.EMPTY
