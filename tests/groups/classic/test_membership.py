import pytest

from penstock.groups.classic import membership, rebalance
from penstock.groups.classic.group import GroupSettings, restore_group
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from tests.groups.classic.driver import DELAY_MS, SESSION_MS, Driver


def test_a_member_is_removed_at_its_session_timeout_and_the_others_rebalance() -> None:
    driver = Driver().stable("a", "b")
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat("a") is ErrorCode.NONE

    driver.advance(1)

    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.joined(driver.join("a")).generation_id == 2


def test_a_group_is_empty_when_the_session_of_its_last_member_ends() -> None:
    driver = Driver().stable("a")

    driver.advance(SESSION_MS)

    assert driver.group.state is State.EMPTY
    assert driver.log[-1].members == []
    assert driver.log[-1].generation == 2


def test_a_member_that_waits_for_the_others_need_not_send_heartbeats() -> None:
    driver = Driver().stable("a", "b")
    waiting = driver.join("a")
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        assert driver.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS

    driver.join("b")

    assert driver.joined(waiting).generation_id == 2


def test_the_session_of_a_member_restarts_with_the_response_to_its_join() -> None:
    driver = Driver().stable("a", "b")
    driver.join("a")
    driver.advance(SESSION_MS - 1)
    driver.heartbeat("b")
    driver.advance(SESSION_MS - 1)
    driver.join("b")

    driver.advance(SESSION_MS - 1)

    assert driver.heartbeat("a") is ErrorCode.NONE


def test_heartbeats_count_while_the_assignment_is_awaited() -> None:
    driver = Driver()
    driver.join(new_id="a")
    driver.advance(DELAY_MS)

    assert driver.heartbeat("a") is ErrorCode.NONE


def test_a_heartbeat_of_another_generation_is_refused() -> None:
    driver = Driver().stable("a")

    assert driver.heartbeat("a", generation=0) is ErrorCode.ILLEGAL_GENERATION


def test_a_member_that_leaves_makes_the_others_rebalance_at_once() -> None:
    driver = Driver().stable("a", "b")

    assert driver.leave("b") == [ErrorCode.NONE]

    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS


def test_several_members_leave_with_one_rebalance() -> None:
    driver = Driver().stable("a", "b", "c")

    assert driver.leave("b", "x", "c") == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]

    assert driver.joined(driver.join("a")).generation_id == 2


def test_a_member_that_leaves_during_a_rebalance_does_not_delay_it() -> None:
    driver = Driver().stable("a", "b")
    waiting = driver.join("a")

    driver.leave("b")

    assert driver.joined(waiting).generation_id == 2


def test_a_member_that_leaves_with_a_parked_join_is_answered() -> None:
    driver = Driver().stable("a", "b")
    waiting = driver.join("b", protocols={"range": b"new"})

    driver.leave("b")

    assert driver.error(waiting) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_id_can_leave() -> None:
    driver = Driver()
    driver.join(new_id="a", requires_member_id=True)

    assert driver.leave("a") == [ErrorCode.NONE]
    assert driver.error(driver.join("a")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_parked_requests_are_refused_when_the_group_moves_to_another_broker() -> None:
    gathering = Driver().stable("a", "b")
    join = gathering.join("a")
    gathering.end()
    assigning = Driver()
    assigning.join(new_id="a")
    assigning.join(new_id="b")
    assigning.advance(2 * DELAY_MS)
    sync = assigning.sync("b")
    assigning.end()

    assert gathering.error(join) is assigning.error(sync) is ErrorCode.NOT_COORDINATOR


def test_a_group_is_restored_unchanged_from_the_log() -> None:
    driver = Driver().stable("a", "b", instance_ids={"b": "two"})

    group = restore_group("g", driver.log[-1], GroupSettings())

    assert group.state is State.STABLE
    assert group.record().members == driver.group.record().members
    assert (group.generation, group.leader_id, group.protocol_name) == (1, "a", "range")
    assert {m.member_id: m.assignment for m in group.members.values()} == {"a": b"a", "b": b"b"}
    assert group.static_members == {"two": "b"}


def test_restored_members_get_a_full_session_timeout() -> None:
    driver = Driver().stable("a", "b")
    driver.group = restore_group("g", driver.log[-1], GroupSettings())
    rebalance.resume(driver.group, driver.now)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat("a") is ErrorCode.NONE

    driver.advance(1)

    assert list(driver.group.members) == ["a"]


def test_a_loaded_group_above_the_maximum_size_rebalances() -> None:
    driver = Driver().stable("a", "b")
    driver.group = restore_group("g", driver.log[-1], GroupSettings(size_max=1))
    rebalance.resume(driver.group, driver.now)

    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.answer(driver.join("a")) is None
    assert driver.error(driver.join("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.group.state is State.COMPLETING_REBALANCE


# -- offsets --------------------------------------------------------------------------------------------


def commit(driver: Driver, member_id: str = "", generation: int = -1, **more: bool) -> ErrorCode:
    return membership.check_commit(driver.group, member_id, None, generation, **more)


def test_an_empty_group_accepts_commits_without_a_generation() -> None:
    assert commit(Driver()) is ErrorCode.NONE
    assert commit(Driver(), "a", 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_with_members_accepts_commits_of_its_current_generation_only() -> None:
    driver = Driver().stable("a")

    assert commit(driver, "a", 1) is ErrorCode.NONE
    assert commit(driver, "a", 0) is ErrorCode.ILLEGAL_GENERATION
    assert commit(driver, "x", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(driver) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_preparing_a_rebalance_accepts_commits_of_the_last_generation() -> None:
    driver = Driver().stable("a", "b")
    driver.join("b", protocols={"range": b"new"})

    assert commit(driver, "a", 1) is ErrorCode.NONE


def test_a_group_awaiting_its_assignment_accepts_only_transactional_commits() -> None:
    driver = Driver()
    driver.join(new_id="a")
    driver.advance(DELAY_MS)

    assert commit(driver, "a", 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commit(driver, "a", 1, is_transactional=True) is ErrorCode.NONE


def test_a_commit_extends_the_session() -> None:
    driver = Driver().stable("a")
    driver.advance(SESSION_MS - 1)

    membership.note_commit(driver.group, "a", driver.now)
    driver.advance(SESSION_MS - 1)

    assert driver.heartbeat("a") is ErrorCode.NONE


@pytest.mark.parametrize(
    ("protocol_type", "code"), [("consumer", ErrorCode.NONE), ("connect", ErrorCode.NON_EMPTY_GROUP)]
)
def test_offsets_of_an_active_group_are_deleted_only_if_its_subscriptions_are_known(
    protocol_type: str, code: ErrorCode
) -> None:
    driver = Driver()
    driver.join(new_id="a", protocol_type=protocol_type)

    assert membership.check_offset_delete(driver.group) is code


def test_only_an_empty_group_is_deleted() -> None:
    driver = Driver().stable("a")
    assert membership.check_delete(driver.group) is ErrorCode.NON_EMPTY_GROUP

    driver.leave("a")

    assert membership.check_delete(driver.group) is ErrorCode.NONE
