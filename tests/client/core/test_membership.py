"""A member of a group, without a broker."""

from penstock.client.core.membership import Change, Membership, MemberState
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)

T = b"t" * 16


def member() -> Membership:
    return Membership("g", ["topic"], member_id="m", rebalance_timeout_ms=60_000)


def answer(epoch: int, partitions: list[int] | None = None) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if partitions is not None:
        assignment = Assignment(topic_partitions=[ResponseTopicPartitions(topic_id=T, partitions=partitions)])
    return ConsumerGroupHeartbeatResponse(
        member_id="m", member_epoch=epoch, heartbeat_interval_ms=3_000, assignment=assignment
    )


def joined(partitions: list[int]) -> Membership:
    membership = member()
    membership.heartbeat()
    membership.on_response(answer(1, partitions))
    membership.heartbeat()
    return membership


def of(*partitions: int) -> frozenset[tuple[bytes, int]]:
    return frozenset((T, partition) for partition in partitions)


def must_report(membership: Membership) -> bool:
    return membership.must_report


def reported(membership: Membership) -> list[int]:
    topics = membership.heartbeat().topic_partitions
    assert topics is not None
    return [partition for topic in topics for partition in topic.partitions]


def test_the_first_heartbeat_joins_with_all_fields() -> None:
    membership = member()
    assert must_report(membership)
    request = membership.heartbeat()
    assert (request.member_epoch, request.subscribed_topic_names) == (0, ["topic"])
    assert (request.rebalance_timeout_ms, request.topic_partitions) == (60_000, [])
    assert membership.on_response(answer(1, [0, 1])) == Change(assigned=of(0, 1))
    assert (membership.epoch, membership.heartbeat_interval_ms) == (1, 3_000)


def test_owned_partitions_are_reported_once() -> None:
    membership = member()
    membership.heartbeat()
    membership.on_response(answer(1, [0, 1]))
    assert must_report(membership)
    assert reported(membership) == [0, 1]
    assert membership.on_response(answer(1)) == Change()
    assert not must_report(membership)


def test_a_revoked_partition_counts_as_owned_until_it_is_confirmed() -> None:
    membership = joined([0, 1])
    assert membership.on_response(answer(2, [0])) == Change(revoked=of(1))
    assert not must_report(membership)
    assert reported(membership) == [0, 1]
    assert membership.owned == of(0, 1)
    assert membership.confirm() == Change()
    assert must_report(membership)
    assert reported(membership) == [0]


def test_new_partitions_are_assigned_when_the_revocation_is_confirmed() -> None:
    membership = joined([0, 1])
    assert membership.on_response(answer(2, [0, 2])) == Change(revoked=of(1))
    assert membership.confirm() == Change(assigned=of(2))
    assert membership.owned == of(0, 2)


def test_an_assignment_received_during_a_revocation_is_applied_after_it() -> None:
    membership = joined([0, 1, 2])
    assert membership.on_response(answer(2, [0, 1])) == Change(revoked=of(2))
    assert membership.on_response(answer(3, [0])) == Change()
    assert membership.confirm() == Change(revoked=of(1))
    assert membership.state is MemberState.REVOKING
    assert membership.confirm() == Change()
    assert membership.owned == of(0)


def test_a_fenced_member_loses_its_partitions_and_rejoins() -> None:
    for code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
        membership = joined([0, 1])
        change = membership.on_response(ConsumerGroupHeartbeatResponse(error_code=code))
        assert change == Change(lost=of(0, 1))
        assert must_report(membership)
        assert membership.heartbeat().member_epoch == 0
        assert membership.on_response(answer(5, [1])) == Change(assigned=of(1))


def test_a_member_that_joined_leaves_once_and_one_that_never_joined_sends_nothing() -> None:
    assert member().leave() is None
    membership = joined([0])
    last = membership.leave()
    assert last is not None
    assert (last.member_id, last.member_epoch) == ("m", -1)
    assert membership.leave() is None


def test_an_unexpected_confirmation_changes_nothing() -> None:
    membership = joined([0])
    assert membership.confirm() == Change()
    assert membership.owned == of(0)
