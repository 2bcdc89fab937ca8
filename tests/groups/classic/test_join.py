from penstock.groups.classic.group import GroupSettings
from penstock.groups.classic.states import State
from penstock.protocol.errors import ErrorCode
from tests.groups.classic.driver import DELAY_MS, REBALANCE_MS, SESSION_MS, Driver


def test_the_first_member_leads_and_gets_the_member_list() -> None:
    driver = Driver()
    first, second = driver.join(new_id="a"), driver.join(new_id="b", protocols={"range": b"other"})
    driver.advance(2 * DELAY_MS)

    leader, follower = driver.joined(first), driver.joined(second)

    assert (leader.leader, leader.member_id, leader.generation_id) == ("a", "a", 1)
    assert [(m.member_id, m.metadata) for m in leader.members] == [("a", b"sub"), ("b", b"other")]
    assert (follower.leader, follower.member_id, follower.members) == ("a", "b", [])
    assert (leader.protocol_type, leader.protocol_name) == ("consumer", "range")


def test_a_new_member_first_gets_its_id_and_joins_with_it() -> None:
    driver = Driver()
    response = driver.join(new_id="a", requires_member_id=True)

    assert driver.error(response) is ErrorCode.MEMBER_ID_REQUIRED
    assert driver.joined(response).member_id == "a"
    assert driver.group.state is State.EMPTY

    joined = driver.join("a", requires_member_id=True)
    driver.advance(DELAY_MS)
    assert driver.joined(joined).member_id == "a"


def test_an_unused_member_id_expires_after_the_session_timeout() -> None:
    driver = Driver()
    driver.join(new_id="a", requires_member_id=True)

    driver.advance(SESSION_MS)

    assert driver.error(driver.join("a")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_a_pending_member_id() -> None:
    driver = Driver().stable("a")
    driver.join(new_id="b", requires_member_id=True)
    rejoined = driver.join("a")

    assert driver.answer(rejoined) is None
    joined = driver.join("b", requires_member_id=True)
    assert driver.joined(rejoined).generation_id == driver.joined(joined).generation_id == 2


def test_a_rebalance_does_not_wait_for_an_id_longer_than_a_session() -> None:
    driver = Driver().stable("a")
    driver.join(new_id="b", requires_member_id=True)
    rejoined = driver.join("a")

    driver.advance(SESSION_MS)

    assert driver.joined(rejoined).generation_id == 2


def test_the_first_rebalance_is_delayed_while_members_join() -> None:
    driver = Driver()
    first = driver.join(new_id="a")
    driver.advance(DELAY_MS - 1)
    second = driver.join(new_id="b")
    driver.advance(1)
    assert driver.answer(first) is None

    driver.advance(DELAY_MS)

    assert driver.joined(first).generation_id == driver.joined(second).generation_id == 1


def test_the_delay_of_the_first_rebalance_ends_with_the_rebalance_timeout() -> None:
    driver = Driver()
    first = driver.join(new_id="a", rebalance_ms=DELAY_MS + 1000)
    for number in range(10):
        driver.advance(DELAY_MS - 500)
        driver.join(new_id=f"late-{number}", rebalance_ms=DELAY_MS + 1000)
        if driver.answer(first) is not None:
            break

    assert driver.now_ms - 1_000_000 <= 2 * DELAY_MS + 1000
    assert driver.joined(first).generation_id == 1


def test_without_an_initial_delay_a_group_begins_at_once() -> None:
    driver = Driver(settings=GroupSettings(initial_rebalance_delay_ms=0))
    first = driver.join(new_id="a")
    driver.advance(0)

    assert driver.joined(first).generation_id == 1


def test_the_most_preferred_of_the_common_protocols_is_chosen() -> None:
    driver = Driver()
    driver.join(new_id="a", protocols={"own": b"", "range": b"", "sticky": b""})
    driver.join(new_id="b", protocols={"sticky": b"", "range": b""})
    third = driver.join(new_id="c", protocols={"sticky": b"", "range": b"", "own": b""})
    driver.advance(2 * DELAY_MS)

    assert driver.joined(third).protocol_name == "sticky"


def test_a_member_that_shares_no_protocol_is_refused() -> None:
    driver = Driver().stable("a")

    assert driver.error(driver.join(protocols={"sticky": b""})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.error(driver.join(protocol_type="connect")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.group.state is State.STABLE


def test_a_first_member_must_name_a_type_and_a_protocol() -> None:
    driver = Driver()

    assert driver.error(driver.join(protocols={})) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.error(driver.join(protocol_type="")) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_an_empty_group_may_change_its_protocol_type() -> None:
    driver = Driver().stable("a")
    driver.leave("a")

    ticket = driver.join(new_id="w", protocol_type="connect", protocols={"compatible": b""})
    driver.advance(DELAY_MS)

    assert driver.joined(ticket).protocol_type == "connect"
    assert driver.joined(ticket).generation_id == 3


def test_a_follower_that_joins_again_unchanged_gets_the_same_generation() -> None:
    driver = Driver().stable("a", "b")

    ticket = driver.join("b")

    assert driver.joined(ticket).generation_id == 1
    assert driver.joined(ticket).members == []
    assert driver.group.state is State.STABLE


def test_a_member_that_missed_the_answer_gets_it_again_before_the_sync() -> None:
    driver = Driver()
    driver.join(new_id="a")
    driver.advance(DELAY_MS)

    again = driver.join("a")

    assert [m.member_id for m in driver.joined(again).members] == ["a"]
    assert driver.group.state is State.COMPLETING_REBALANCE


def test_a_member_with_new_metadata_triggers_a_rebalance() -> None:
    driver = Driver().stable("a", "b")

    ticket = driver.join("b", protocols={"range": b"more topics"})

    assert driver.answer(ticket) is None
    assert driver.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = driver.join("a")
    assert driver.joined(rejoined).generation_id == 2
    assert {m.member_id: m.metadata for m in driver.joined(rejoined).members} == {
        "a": b"sub",
        "b": b"more topics",
    }


def test_a_join_of_the_leader_triggers_a_rebalance() -> None:
    driver = Driver().stable("a", "b")

    driver.join("a")

    assert driver.group.state is State.PREPARING_REBALANCE


def test_a_second_join_of_a_member_answers_its_first() -> None:
    driver = Driver().stable("a", "b")
    first = driver.join("a")

    second = driver.join("a")

    assert driver.error(first) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.join("b")
    assert driver.joined(second).generation_id == 2


def test_a_member_that_does_not_join_in_time_is_removed() -> None:
    driver = Driver().stable("a", "b")
    ticket = driver.join("a", session_ms=10 * REBALANCE_MS)
    for _ in range(7):
        driver.advance(SESSION_MS - 1)
        driver.heartbeat("b")

    assert driver.joined(ticket).generation_id == 2
    assert driver.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_does_not_join_in_time_is_replaced() -> None:
    driver = Driver().stable("a", "b")
    ticket = driver.join("b", protocols={"range": b"new"})
    driver.advance(REBALANCE_MS)

    assert driver.joined(ticket).leader == "b"
    assert [m.member_id for m in driver.joined(ticket).members] == ["b"]


def test_a_full_group_refuses_new_members() -> None:
    driver = Driver(settings=GroupSettings(size_max=2, initial_rebalance_delay_ms=DELAY_MS)).stable("a", "b")

    refused = driver.join(new_id="c")

    assert driver.error(refused) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.group.state is State.STABLE
    rejoined = driver.join("a")
    driver.join("b")
    assert driver.joined(rejoined).generation_id == 2


def test_a_rebalancing_group_accepts_no_more_than_its_maximum_size() -> None:
    driver = Driver(settings=GroupSettings(size_max=2, initial_rebalance_delay_ms=DELAY_MS))
    driver.join(new_id="a")
    driver.join(new_id="b")

    assert driver.error(driver.join(new_id="c")) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_an_unknown_member_is_refused() -> None:
    driver = Driver().stable("a")

    assert driver.error(driver.join("stranger")) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_join_of_a_new_member_expires_after_five_minutes() -> None:
    driver = Driver().stable("a")
    driver.join(new_id="b", rebalance_ms=10 * REBALANCE_MS, session_ms=10 * REBALANCE_MS)
    for _ in range(61):
        driver.advance(SESSION_MS // 2)
        driver.heartbeat("a")

    assert "b" not in driver.group.members
