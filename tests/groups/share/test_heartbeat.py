"""Transcripts of a share group: members come, stay, are late and leave."""

from typing import Any

import msgspec
import pytest

from penstock.groups.base.epoch_group import GroupState
from penstock.groups.base.errors import GroupError
from penstock.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.groups.base.driver import SESSION_MS, kinds, topic_id
from tests.groups.share.driver import SETTINGS, Consumer, Driver


def refusal(driver: Driver, **fields: Any) -> tuple[str, str]:
    request = {"group_id": "g", "member_id": "m1", "member_epoch": 0, "subscribed_topic_names": ["a"]}
    with pytest.raises(GroupError) as refused:
        driver.send(ShareGroupHeartbeatRequest(**{**request, **fields}))
    return refused.value.code.name, refused.value.message


def settled(driver: Driver, *consumers: Consumer) -> None:
    """The share coordinator answers what it was asked, and everyone reports twice."""
    while driver.asked:
        driver.share_coordinator_answers()
    for _ in range(2):
        for consumer in consumers:
            consumer.beat()


# -- joining ------------------------------------------------------------------------------------------------


def test_a_member_gets_partitions_once_the_share_coordinator_has_initialized_them() -> None:
    driver = Driver(a=3)

    alone = Consumer(driver, "m1").join()

    assert (alone.epoch, alone.numbers) == (2, [])
    assert driver.asked == [{topic_id("a"): frozenset({0, 1, 2})}]
    assert kinds(driver) == [
        "MemberMetadata",
        "Metadata",
        "TargetAssignmentMember",
        "TargetAssignmentMetadata",
        "CurrentMemberAssignment",
        "StatePartitionMetadata",
    ]
    alone.beat()
    assert (alone.epoch, alone.numbers, kinds(driver)) == (2, [], []), "nothing has happened yet"

    driver.share_coordinator_answers()
    assert kinds(driver) == ["StatePartitionMetadata"]
    alone.beat()
    assert (alone.epoch, alone.numbers) == (3, [0, 1, 2])
    assert driver.group.state is GroupState.STABLE


def test_a_failed_initialization_is_retried_with_the_next_heartbeat() -> None:
    driver = Driver(a=1)
    alone = Consumer(driver, "m1").join()

    driver.share_coordinator_answers(succeeds=False)
    assert driver.group.state_partitions.initializing == {}
    alone.beat()
    assert (alone.numbers, len(driver.asked)) == ([], 1)
    settled(driver, alone)
    assert alone.numbers == [0]


def test_the_next_coordinator_repeats_an_interrupted_initialization() -> None:
    driver = Driver(a=2)
    alone = Consumer(driver, "m1").join()

    driver.fail_over()
    alone.beat()
    assert driver.asked == [{topic_id("a"): frozenset({0, 1})}]
    settled(driver, alone)
    assert alone.numbers == [0, 1]


def test_more_members_than_partitions_share_them() -> None:
    driver = Driver(a=2)
    members = [Consumer(driver, f"m{n}").join() for n in range(5)]

    settled(driver, *members)

    readers = [sum(partition in m.numbers for m in members) for partition in range(2)]
    assert all(m.numbers for m in members)
    assert sum(readers) == 6
    assert readers == [3, 3]


def test_a_partition_is_reassigned_without_a_revocation() -> None:
    driver = Driver(a=4)
    first = Consumer(driver, "m1").join()
    settled(driver, first)

    second = Consumer(driver, "m2").join()

    assert len(second.numbers) == 2
    assert first.numbers == [0, 1, 2, 3], "it has not been told yet"
    first.beat()
    assert sorted(first.numbers + second.numbers) == [0, 1, 2, 3]


def test_new_partitions_of_a_topic_are_assigned() -> None:
    driver = Driver(a=1)
    alone = Consumer(driver, "m1").join()
    settled(driver, alone)

    driver.change_topics(a=3)
    alone.beat()
    assert driver.asked == [{topic_id("a"): frozenset({1, 2})}], "only what is new"
    settled(driver, alone)
    assert alone.numbers == [0, 1, 2]


def test_a_topic_created_later_is_assigned() -> None:
    driver = Driver(a=1)
    alone = Consumer(driver, "m1", "a", "later").join()
    settled(driver, alone)

    driver.change_topics(later=1)
    alone.beat()
    settled(driver, alone)

    assert alone.held == {("a", 0), ("later", 0)}


def test_a_deleted_topic_is_unassigned_and_its_state_removed() -> None:
    driver = Driver(a=1, b=1)
    alone = Consumer(driver, "m1", "a", "b").join()
    settled(driver, alone)

    driver.change_topics(b=0)
    assert driver.group.state_partitions.initialized.keys() == {topic_id("a")}
    alone.beat()
    assert alone.held == {("a", 0)}


def test_a_member_that_changes_its_subscription_loses_its_old_partitions_at_once() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, assignment_interval_ms=60_000), a=1, b=1)
    alone = Consumer(driver, "m1", "a").join()
    settled(driver, alone)
    assert alone.held == {("a", 0)}

    alone.topics, alone.sends_everything = ["b"], True
    alone.beat()

    assert alone.held == set(), "though the next target has to wait"


def test_a_new_target_assignment_waits_for_the_minimum_interval() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, assignment_interval_ms=1000), a=2)
    first = Consumer(driver, "m1").join()
    settled(driver, first)

    second = Consumer(driver, "m2").join()
    assert second.numbers == []
    driver.advance(1000)
    second.beat()
    assert len(second.numbers) == 1


# -- staying ------------------------------------------------------------------------------------------------


def test_a_heartbeat_without_changes_writes_nothing_and_has_no_assignment() -> None:
    driver = Driver()
    alone = Consumer(driver, "m1").join()
    settled(driver, alone)

    answer = driver.send(alone.request())

    assert driver.written == []
    assert answer.assignment is None
    assert answer.heartbeat_interval_ms == SETTINGS.heartbeat_interval_ms


def test_a_member_that_missed_a_response_may_send_its_previous_epoch() -> None:
    driver = Driver(a=1)
    alone = Consumer(driver, "m1").join()
    driver.share_coordinator_answers()
    driver.send(alone.request())  # the answer is lost
    assert driver.group.members["m1"].epoch == 3

    alone.beat()

    assert (alone.epoch, alone.numbers) == (3, [0])


def test_a_member_is_removed_at_its_session_timeout() -> None:
    driver = Driver(a=2)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    settled(driver, first, second)

    driver.advance(SESSION_MS - 1)
    first.beat()
    assert driver.advance(1) == ["m2"]
    first.beat()
    assert first.numbers == [0, 1]
    assert driver.advance(SESSION_MS) == ["m1"]
    assert driver.group.state is GroupState.EMPTY


def test_a_leaving_member_is_removed_at_once_and_its_partitions_go_to_others() -> None:
    driver = Driver(a=2)
    first, second = Consumer(driver, "m1").join(), Consumer(driver, "m2").join()
    settled(driver, first, second)

    answer = driver.leave("m1")

    assert (answer.member_id, answer.member_epoch) == ("m1", -1)
    assert kinds(driver) == [
        "CurrentMemberAssignment gone",
        "TargetAssignmentMember gone",
        "MemberMetadata gone",
        "Metadata",
    ]
    second.beat()
    assert second.numbers == [0, 1]
    with pytest.raises(GroupError):
        driver.leave("m1")


def test_members_and_their_partitions_are_restored_from_the_log() -> None:
    driver = Driver(a=4)
    members = [Consumer(driver, f"m{n}").join() for n in range(3)]
    settled(driver, *members)
    before = driver.group

    driver.fail_over()

    after = driver.group
    assert after.members == before.members
    assert (after.epoch, after.assignment_epoch, after.target) == (
        before.epoch,
        before.assignment_epoch,
        before.target,
    )
    assert after.state_partitions == before.state_partitions
    epochs = [each.beat().epoch for each in members]
    assert epochs == [before.epoch] * 3, "nobody notices"


def test_a_deleted_group_leaves_nothing_in_the_log() -> None:
    driver = Driver(a=1)
    alone = Consumer(driver, "m1").join()
    settled(driver, alone)
    driver.leave("m1")

    latest = {**dict(driver.log), **dict(driver.group.tombstones())}

    assert not any(latest.values())
    assert Driver.replay(driver.log).members == {}


# -- what is refused ----------------------------------------------------------------------------------------


def test_an_unknown_member_and_wrong_epochs_are_refused() -> None:
    driver = Driver()
    Consumer(driver, "m1").join()

    assert refusal(driver, member_id="m2", member_epoch=1)[0] == "UNKNOWN_MEMBER_ID"
    assert refusal(driver, member_epoch=7) == (
        "FENCED_MEMBER_EPOCH",
        (
            "The share group member has a greater member epoch (7) than the one known by the group coordinator (2). "
            "The member must abandon all its partitions and rejoin."
        ),
    )
    driver.share_coordinator_answers()
    driver.send(ShareGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=2))
    driver.change_topics(a=5)
    driver.send(ShareGroupHeartbeatRequest(group_id="g", member_id="m1", member_epoch=3))
    assert refusal(driver, member_epoch=2) == (
        "FENCED_MEMBER_EPOCH",
        (
            "The share group member has a smaller member epoch (2) than the one known by the group coordinator (4), "
            "and it does not match the previous member epoch (3). The member must abandon all its partitions and "
            "rejoin."
        ),
    )


def test_a_full_group_refuses_new_members() -> None:
    driver = Driver(msgspec.structs.replace(SETTINGS, size_max=1))
    member = Consumer(driver, "m1").join()

    assert refusal(driver, member_id="m2") == (
        "GROUP_MAX_SIZE_REACHED",
        "The share group has reached its maximum capacity of 1 members.",
    )
    member.join()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": " "}, "MemberId can't be empty."),
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"subscribed_topic_names": None}, "SubscribedTopicNames must be set in first request."),
        ({"subscribed_topic_names": []}, "SubscribedTopicNames must be set in first request."),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_an_invalid_request_is_refused(fields: dict[str, Any], message: str) -> None:
    assert refusal(Driver(), **fields) == ("INVALID_REQUEST", message)
