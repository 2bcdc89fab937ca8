"""Classic members of a KIP-848 group."""

import pytest

from penstock.groups.base.errors import GroupError
from penstock.groups.consumer import classic_members
from penstock.groups.consumer.states import MemberState
from penstock.protocol.messages.join_group import (
    JoinGroupRequestProtocol,
)
from penstock.protocol.messages.leave_group import MemberIdentity
from tests.groups.consumer.classic_driver import CLASSIC_SESSION_MS, ClassicConsumer, mixed
from tests.groups.consumer.driver import REBALANCE_MS, Consumer


def test_a_new_classic_member_gets_its_id_first() -> None:
    driver, _, _ = mixed()
    newcomer = ClassicConsumer(driver, "")

    answer = newcomer.join()
    assert (answer.error_code, answer.member_id) == (79, "new-id")
    assert "new-id" not in driver.group.members

    newcomer.member_id = answer.member_id
    assert not newcomer.join().error_code
    assert "new-id" in driver.group.members


def test_a_classic_member_does_not_rejoin_while_no_partition_is_free() -> None:
    driver, old, new = mixed()
    newcomer = ClassicConsumer(driver, "c2")
    newcomer.join()
    newcomer.sync()
    assert driver.group.members["c2"].state is MemberState.UNRELEASED_PARTITIONS
    assert newcomer.beat() == "NONE"

    for _ in range(3):
        old.work()
        new.beat()
    assert newcomer.beat() == "REBALANCE_IN_PROGRESS"
    newcomer.join()

    assert sorted([*old.held, *new.numbers, *newcomer.sync()]) == [0, 1, 2, 3]


def test_a_classic_member_learns_of_new_partitions() -> None:
    driver, old, new = mixed()

    driver.change_topics(a=6)
    for _ in range(3):
        old.work()
        new.beat()

    assert sorted([*old.held, *new.numbers]) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocols": [JoinGroupRequestProtocol(name="other")]}, "INCONSISTENT_GROUP_PROTOCOL"),
        (
            {"protocols": [JoinGroupRequestProtocol(name="range", metadata=b"\0")]},
            "INCONSISTENT_GROUP_PROTOCOL",
        ),
        ({"member_id": "c9", "group_instance_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_inconsistent_classic_joins_are_refused(change: dict[str, object], code: str) -> None:
    driver, _, _ = mixed()

    with pytest.raises(GroupError) as refused:
        ClassicConsumer(driver, "c2").join(**change)

    assert refused.value.code.name == code
    assert driver.group.take_outbox() == []


def test_an_older_generation_is_refused() -> None:
    _, old, _ = mixed()
    old.generation -= 1

    for request in (old.beat, old.sync):
        with pytest.raises(GroupError) as refused:
            request()
        assert refused.value.code.name == "ILLEGAL_GENERATION"


def test_a_sync_that_comes_after_the_next_rebalance_began_is_refused() -> None:
    driver, old, _ = mixed()
    old.join()
    driver.leave("m1")

    with pytest.raises(GroupError) as refused:
        old.sync()

    assert refused.value.code.name == "REBALANCE_IN_PROGRESS"


def test_members_of_the_consumer_protocol_cannot_send_classic_requests() -> None:
    driver, _, new = mixed()
    impostor = ClassicConsumer(driver, "m1")
    impostor.generation = new.epoch

    with pytest.raises(GroupError) as refused:
        impostor.beat()

    assert refused.value.code.name == "UNKNOWN_MEMBER_ID"


def test_a_classic_member_that_does_not_join_in_time_is_removed() -> None:
    driver, old, new = mixed()
    Consumer(driver, "m2").join()
    removed = []
    for _ in range(REBALANCE_MS // 5000):
        assert old.beat() == "REBALANCE_IN_PROGRESS"
        new.beat()
        removed += driver.advance(5000)

    assert "c1" in removed


def test_a_classic_member_that_does_not_sync_in_time_is_removed() -> None:
    driver, old, new = mixed()
    old.join()
    removed = []
    for _ in range(REBALANCE_MS // 5000):
        assert old.beat() == "NONE"
        new.beat()
        removed += driver.advance(5000)

    assert removed == ["c1"]


def test_a_classic_member_has_its_own_session_timeout() -> None:
    driver, _, new = mixed()

    driver.advance(CLASSIC_SESSION_MS - 1)
    new.beat()

    assert driver.advance(1) == ["c1"]


def test_classic_members_leave_by_their_own_request() -> None:
    driver, _, new = mixed()
    leaving = [MemberIdentity(member_id=each) for each in ("c1", "c1", "m1", "nobody")]

    answers = classic_members.leave(driver.group, leaving, driver.ctx)
    driver.take()

    assert [each.error_code for each in answers] == [0, 25, 25, 25]
    assert new.beat().numbers == [0, 1, 2, 3]
