from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from tests.groups.classic.driver import DELAY_MS, REBALANCE_MS, SESSION_MS, Driver


def completing(*member_ids: str, stores_at_once: bool = True) -> Driver:
    driver = Driver(stores_at_once=stores_at_once)
    for each in member_ids:
        driver.join(new_id=each)
    driver.advance(2 * DELAY_MS)
    assert driver.group.state is State.COMPLETING_REBALANCE
    return driver


def test_followers_wait_for_the_leader_and_each_gets_its_own_assignment() -> None:
    driver = completing("a", "b")

    follower = driver.sync("b")
    assert driver.answer(follower) is None
    leader = driver.sync("a", {"a": b"0,1", "b": b"2"})

    assert driver.synced(follower).assignment == b"2"
    assert driver.synced(leader).assignment == b"0,1"
    assert driver.synced(leader).protocol_name == "range"
    assert driver.group.state is State.STABLE


def test_members_get_an_assignment_only_after_it_is_committed() -> None:
    driver = completing("a", stores_at_once=False)

    ticket = driver.sync("a", {"a": b"0"})

    assert driver.answer(ticket) is None
    assert driver.group.state is State.COMPLETING_REBALANCE
    assert driver.stores[0].value.members[0].assignment == b"0"
    driver.store_next()
    assert driver.synced(ticket).assignment == b"0"


def test_an_assignment_that_cannot_be_stored_begins_a_new_rebalance() -> None:
    driver = completing("a", "b", stores_at_once=False)
    follower, leader = driver.sync("b"), driver.sync("a", {"a": b"0"})

    driver.store_next(ErrorCode.NOT_COORDINATOR)

    assert driver.error(follower) is driver.error(leader) is ErrorCode.NOT_COORDINATOR
    assert driver.group.state is State.PREPARING_REBALANCE


def test_an_assignment_stored_after_a_new_rebalance_is_ignored() -> None:
    driver = completing("a", "b", stores_at_once=False)
    leader = driver.sync("a", {"a": b"0"})
    driver.join(new_id="c")
    assert driver.error(leader) is ErrorCode.REBALANCE_IN_PROGRESS

    driver.store_next()

    assert driver.group.state is State.PREPARING_REBALANCE
    assert all(not m.assignment for m in driver.group.members.values())


def test_an_assignment_of_an_earlier_generation_is_ignored() -> None:
    driver = completing("a", stores_at_once=False)
    driver.sync("a", {"a": b"old"})
    driver.join("a", protocols={"range": b"new"})
    assert driver.group.generation == 2

    driver.store_next()

    assert driver.group.state is State.COMPLETING_REBALANCE


def test_a_member_without_an_assignment_gets_an_empty_one() -> None:
    driver = completing("a", "b")
    follower = driver.sync("b")

    driver.sync("a", {"a": b"all", "gone": b"?"})

    assert driver.synced(follower).assignment == b""


def test_a_member_of_a_stable_group_may_ask_again() -> None:
    driver = Driver().stable("a", "b")

    assert driver.synced(driver.sync("b")).assignment == b"b"


def test_a_sync_of_an_unknown_member_or_another_generation_is_refused() -> None:
    driver = completing("a")

    assert driver.error(driver.sync("x")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.error(driver.sync("a", generation=0)) is ErrorCode.ILLEGAL_GENERATION
    assert driver.error(driver.sync("a", generation=2)) is ErrorCode.ILLEGAL_GENERATION


def test_a_sync_that_names_another_protocol_is_refused() -> None:
    driver = completing("a")

    assert driver.error(driver.sync("a", protocol_type="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.error(driver.sync("a", protocol_name="sticky")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_during_a_rebalance_sends_the_member_back_to_join() -> None:
    driver = Driver().stable("a", "b")
    driver.join("a")

    assert driver.error(driver.sync("b")) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_never_syncs_is_removed_after_the_rebalance_timeout() -> None:
    driver = completing("a", "b")
    leader = driver.sync("a", {"a": b"", "b": b""})
    assert not driver.error(leader)
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        driver.advance(SESSION_MS // 2)
        driver.heartbeat("a")
        driver.heartbeat("b")

    assert "b" not in driver.group.members
    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_whose_leader_never_syncs_elects_another() -> None:
    driver = completing("a", "b")
    follower = driver.sync("b")
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        driver.advance(SESSION_MS // 2)
        driver.heartbeat("a")

    assert driver.error(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.joined(driver.join("b")).leader == "b"


def test_a_second_sync_of_a_member_answers_its_first() -> None:
    driver = completing("a", "b")
    first = driver.sync("b")

    second = driver.sync("b")

    assert driver.error(first) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync("a", {"b": b"2"})
    assert driver.synced(second).assignment == b"2"


def test_a_leader_that_syncs_twice_is_answered_once_for_each() -> None:
    driver = completing("a", stores_at_once=False)
    first, second = driver.sync("a", {"a": b"0"}), driver.sync("a", {"a": b"0"})

    driver.store_next()

    assert driver.error(first) is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.synced(second).assignment == b"0"
    assert driver.group.state is State.STABLE


def test_a_leader_that_repeats_its_sync_with_another_assignment_gets_the_stored_one() -> None:
    driver = completing("a", "b", stores_at_once=False)
    driver.sync("b")
    driver.sync("a", {"a": b"0", "b": b"1"})
    again = driver.sync("a", {"a": b"1", "b": b"0"})
    while driver.stores:
        driver.store_next()

    assert driver.group.state is State.STABLE
    assert driver.synced(again).assignment == b"0"
    logged = {each.member_id: each.assignment for each in driver.log[-1].members}
    assert logged == {each.member_id: each.assignment for each in driver.group.members.values()}


def test_a_leader_assigns_again_after_its_assignment_could_not_be_stored() -> None:
    driver = completing("a", stores_at_once=False)
    driver.sync("a", {"a": b"0"})
    driver.store_next(ErrorCode.NOT_COORDINATOR)
    driver.join("a")

    again = driver.sync("a", {"a": b"1"})
    driver.store_next()

    assert driver.synced(again).assignment == b"1"
