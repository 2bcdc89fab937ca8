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
    told = None
    if partitions is not None:
        told = Assignment(topic_partitions=[ResponseTopicPartitions(topic_id=T, partitions=partitions)])
    return ConsumerGroupHeartbeatResponse(
        member_id="m", member_epoch=epoch, heartbeat_interval_ms=3_000, assignment=told
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


def test_the_first_heartbeat_joins_with_everything_the_coordinator_wants_to_know() -> None:
    membership = member()
    assert must_report(membership)
    request = membership.heartbeat()
    assert (request.member_epoch, request.subscribed_topic_names) == (0, ["topic"])
    assert (request.rebalance_timeout_ms, request.topic_partitions) == (60_000, [])
    assert membership.on_response(answer(1, [0, 1])) == Change(assigned=of(0, 1))
    assert (membership.epoch, membership.heartbeat_interval_ms) == (1, 3_000)


def test_what_is_owned_is_reported_at_once_and_then_there_is_no_news() -> None:
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


def test_what_is_new_beside_what_is_revoked_comes_with_the_confirmation() -> None:
    membership = joined([0, 1])
    assert membership.on_response(answer(2, [0, 2])) == Change(revoked=of(1))
    assert membership.confirm() == Change(assigned=of(2))
    assert membership.owned == of(0, 2)


def test_an_assignment_that_comes_while_giving_up_is_looked_at_afterwards() -> None:
    membership = joined([0, 1, 2])
    assert membership.on_response(answer(2, [0, 1])) == Change(revoked=of(2))
    assert membership.on_response(answer(3, [0])) == Change()
    assert membership.confirm() == Change(revoked=of(1))
    assert membership.state is MemberState.REVOKING
    assert membership.confirm() == Change()
    assert membership.owned == of(0)


def test_a_member_that_was_put_out_has_lost_everything_and_joins_again() -> None:
    for code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
        membership = joined([0, 1])
        change = membership.on_response(ConsumerGroupHeartbeatResponse(error_code=code))
        assert change == Change(lost=of(0, 1))
        assert must_report(membership)
        assert membership.heartbeat().member_epoch == 0
        assert membership.on_response(answer(5, [1])) == Change(assigned=of(1))


def test_who_leaves_says_so_once_and_who_never_joined_need_not() -> None:
    assert member().leave() is None
    membership = joined([0])
    last = membership.leave()
    assert last is not None
    assert (last.member_id, last.member_epoch) == ("m", -1)
    assert membership.leave() is None


def test_a_confirmation_that_nobody_waits_for_changes_nothing() -> None:
    membership = joined([0])
    assert membership.confirm() == Change()
    assert membership.owned == of(0)
