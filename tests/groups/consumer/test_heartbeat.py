"""Transcripts of a KIP-848 group: members come, stay, are late and leave."""

from typing import Any

import msgspec
import pytest

from penstock.groups.base.epoch_group import GroupState
from penstock.groups.base.errors import GroupError
from penstock.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.groups.base.driver import SESSION_MS, kinds
from tests.groups.consumer.driver import REBALANCE_MS, SETTINGS, Consumer, Driver, beat_until_stable


def refusal(driver: Driver, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> tuple[str, str]:
    with pytest.raises(GroupError) as refused:
        driver.send(request, version)
    return refused.value.code.name, refused.value.message


# -- joining ------------------------------------------------------------------------------------------------


def test_a_lone_member_gets_everything_with_its_first_heartbeat() -> None:
    driver = Driver(a=3)

    alone = Consumer(driver, "m1").join()

    assert alone.numbers == [0, 1, 2]
    assert alone.epoch == driver.group.epoch == 1
    assert driver.group.state is GroupState.STABLE
    assert kinds(driver) == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
    ]


def test_a_partition_is_reassigned_only_after_its_owner_has_revoked_it() -> None:
    driver = Driver(a=4)
    first = Consumer(driver, "m1").join()
    second = Consumer(driver, "m2").join()
    assert second.numbers == []
    assert (second.epoch, driver.group.state) == (2, GroupState.RECONCILING)

    first.beat(revokes=False)
    assert (first.assigned, first.epoch) == ({("a", 0), ("a", 1)}, 1), "it is told, and stays in its epoch"
    second.beat()
    assert second.numbers == [], "the first has not said that it gave anything up"
    first.beat(revokes=False)
    second.beat()
    assert second.numbers == []

    first.take_over()
    first.beat()
    assert first.epoch == 2
    second.beat()
    assert (first.numbers, second.numbers) == ([0, 1], [2, 3])
    assert driver.group.state is GroupState.STABLE


def test_a_heartbeat_without_changes_writes_nothing_and_has_no_assignment() -> None:
    driver = Driver()
    member = Consumer(driver, "m1").join()

    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=member.epoch)
    answer = driver.send(request)

    assert driver.written == []
    assert answer.assignment is None
    assert answer.heartbeat_interval_ms == SETTINGS.heartbeat_interval_ms


def test_the_response_to_a_full_heartbeat_has_the_assignment() -> None:
    driver = Driver(a=1)
    member = Consumer(driver, "m1").join()
    epoch, member.epoch = member.epoch, 0
    request = msgspec.structs.replace(member.request(), member_epoch=epoch)

    answer = driver.send(request)

    assert answer.assignment is not None
    assert [each.partitions for each in answer.assignment.topic_partitions] == [[0]]


def test_a_member_that_missed_a_response_continues() -> None:
    """The answer that raised its epoch was lost: it comes with the epoch before."""
    driver = Driver(a=4)
    first = Consumer(driver, "m1").join()
    second = Consumer(driver, "m2").join()
    beat_until_stable(first, second)
    Consumer(driver, "m3").join()
    held_before, epoch_before = set(first.held), first.epoch
    first.beat().beat()
    assert first.epoch == epoch_before + 1

    first.epoch = epoch_before
    first.beat()

    assert first.epoch == epoch_before + 1
    assert first.held <= held_before


def test_a_retried_join_creates_no_second_member() -> None:
    driver = Driver(a=2)
    member = Consumer(driver, "m1").join()

    again = Consumer(driver, "m1").join()

    assert again.numbers == member.numbers == [0, 1]
    assert again.epoch == member.epoch
    assert list(driver.group.members) == ["m1"]


@pytest.mark.parametrize(("epoch", "comparison"), [(7, "greater"), (2, "smaller")])
def test_a_member_of_another_epoch_is_fenced(epoch: int, comparison: str) -> None:
    driver = Driver()
    first = Consumer(driver, "m1").join()
    second = Consumer(driver, "m2").join()
    Consumer(driver, "m3").join()
    beat_until_stable(first, second)
    assert first.epoch == 3
    first.epoch = epoch

    code, message = refusal(driver, first.request())

    assert code == "FENCED_MEMBER_EPOCH"
    assert comparison in message
    assert first.join().epoch == 3, "it may join again under its id"


def test_the_heartbeat_of_an_unknown_member_is_refused() -> None:
    driver = Driver()
    Consumer(driver, "m1").join()
    stranger = Consumer(driver, "m2")
    stranger.epoch = 1

    assert refusal(driver, stranger.request())[0] == "UNKNOWN_MEMBER_ID"


def test_a_full_group_refuses_new_members() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, size_max=1))
    first = Consumer(driver, "m1").join()

    assert refusal(driver, Consumer(driver, "m2").request())[0] == "GROUP_MAX_SIZE_REACHED"
    first.beat()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"group_id": ""}, "INVALID_REQUEST"),
        ({"instance_id": ""}, "INVALID_REQUEST"),
        ({"rack_id": ""}, "INVALID_REQUEST"),
        ({"member_id": ""}, "INVALID_REQUEST"),
        ({"member_epoch": -3}, "INVALID_REQUEST"),
        ({"member_epoch": -2}, "INVALID_REQUEST"),
        ({"rebalance_timeout_ms": -1}, "INVALID_REQUEST"),
        ({"topic_partitions": None}, "INVALID_REQUEST"),
        ({"subscribed_topic_names": None}, "INVALID_REQUEST"),
        ({"server_assignor": "sticky"}, "UNSUPPORTED_ASSIGNOR"),
        ({"subscribed_topic_regex": "a("}, "INVALID_REGULAR_EXPRESSION"),
    ],
)
def test_invalid_requests_are_refused(change: dict[str, Any], code: str) -> None:
    driver = Driver()
    request = msgspec.structs.replace(Consumer(driver, "m1").request(), **change)

    assert refusal(driver, request)[0] == code
    assert not driver.group.members


def test_in_version_0_a_member_may_join_without_an_id() -> None:
    driver = Driver()
    request = msgspec.structs.replace(Consumer(driver, "m1").request(), member_id="")

    from penstock.groups.consumer.heartbeat import check_request

    check_request(request, 0, SETTINGS)
    assert refusal(driver, request, 1)[0] == "INVALID_REQUEST"


# -- leaving and being late ---------------------------------------------------------------------------------


def test_the_partitions_of_a_leaving_member_go_to_the_others() -> None:
    driver = Driver(a=4)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    beat_until_stable(first, second)

    driver.leave("m2")
    assert kinds(driver)[:3] == [
        "CurrentMemberAssignment gone",
        "TargetAssignmentMember gone",
        "MemberMetadata gone",
    ]
    first.beat()

    assert first.numbers == [0, 1, 2, 3]


def test_a_member_is_removed_at_its_session_timeout() -> None:
    driver = Driver(a=2)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    beat_until_stable(first, second)

    driver.advance(SESSION_MS - 1)
    first.beat()
    assert driver.advance(1) == ["m2"]
    first.beat()

    assert first.numbers == [0, 1]
    assert refusal(driver, second.request())[0] == "UNKNOWN_MEMBER_ID"


def test_a_member_that_does_not_revoke_its_partitions_is_removed_at_its_rebalance_timeout() -> None:
    driver = Driver(a=2)
    stubborn = Consumer(driver, "m1").join()
    Consumer(driver, "m2").join()
    other = Consumer(driver, "m2")
    removed = []
    for _ in range(REBALANCE_MS // 10_000):
        stubborn.beat(revokes=False)
        other.join()
        removed += driver.advance(10_000)

    assert removed == ["m1"]
    assert other.join().numbers == [0, 1]


def test_a_member_that_revoked_in_time_has_no_rebalance_timeout() -> None:
    driver = Driver(a=2)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    beat_until_stable(first, second)
    for _ in range(8):
        assert driver.advance(10_000) == []
        first.beat()
        second.beat()


# -- static members -----------------------------------------------------------------------------------------


def test_a_static_member_that_left_temporarily_gets_its_partitions_back() -> None:
    driver = Driver(a=4)
    first = Consumer(driver, "m1", instance_id="one").join()
    second = Consumer(driver, "m2", instance_id="two").join()
    beat_until_stable(first, second)
    held, epoch = second.numbers, driver.group.epoch

    driver.leave("m2", -2, "two")
    assert first.beat().numbers == [0, 1], "nobody gets what it held"
    again = Consumer(driver, "m3", instance_id="two").join()

    assert again.numbers == held
    assert again.epoch == epoch == driver.group.epoch
    assert set(driver.group.members) == {"m1", "m3"}


def test_a_temporarily_departed_static_member_is_fenced_in_its_old_epoch() -> None:
    driver = Driver(a=2)
    member = Consumer(driver, "m1", instance_id="one").join()
    Consumer(driver, "m2").join()
    beat_until_stable(member)
    driver.leave("m1", -2, "one")

    for epoch in (member.epoch, member.epoch - 1):
        member.epoch = epoch
        assert refusal(driver, member.request())[0] == "FENCED_MEMBER_EPOCH"


def test_a_static_member_that_does_not_return_is_removed() -> None:
    driver = Driver(a=4)
    first = Consumer(driver, "m1").join()
    second = Consumer(driver, "m2", instance_id="two").join()
    beat_until_stable(first, second)
    driver.leave("m2", -2, "two")

    driver.advance(SESSION_MS - 1)
    first.beat()
    assert driver.advance(1) == ["m2"]
    assert first.beat().numbers == [0, 1, 2, 3]


def test_the_instance_id_of_an_active_member_cannot_be_taken_over() -> None:
    driver = Driver()
    Consumer(driver, "m1", instance_id="one").join()

    code, _ = refusal(driver, Consumer(driver, "m2", instance_id="one").request())

    assert code == "UNRELEASED_INSTANCE_ID"


def test_the_former_member_id_of_a_static_member_is_fenced() -> None:
    driver = Driver()
    old = Consumer(driver, "m1", instance_id="one").join()
    driver.leave("m1", -2, "one")
    Consumer(driver, "m2", instance_id="one").join()

    assert refusal(driver, old.request())[0] == "FENCED_INSTANCE_ID"
    with pytest.raises(GroupError, match="fenced"):
        driver.leave("m1", -1, "one")


def test_a_heartbeat_of_an_unknown_instance_is_refused() -> None:
    driver = Driver()
    Consumer(driver, "m1").join()
    stranger = Consumer(driver, "m1", instance_id="one")
    stranger.epoch = 1

    assert refusal(driver, stranger.request())[0] == "UNKNOWN_MEMBER_ID"
