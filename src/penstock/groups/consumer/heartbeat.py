"""ConsumerGroupHeartbeat to a KIP-848 group: join, stay, leave.

Whatever can be refused is refused before anything is changed.
"""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from penstock.groups.consumer import membership, targets
from penstock.groups.consumer.errors import Refused
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    Assignment,
    Member,
    partitions_of,
)
from penstock.groups.consumer.reconcile import reconcile
from penstock.groups.consumer.regex.syntax import InvalidPattern
from penstock.groups.consumer.situation import ConsumerSettings, Situation
from penstock.groups.consumer.states import MemberState
from penstock.groups.consumer.subscription import resolved, see_new_topics, subscribe
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.consumer_group_heartbeat import Assignment as ToldAssignment
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
    ResponseTopicPartitions,
)
from penstock.protocol.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionValue,
)


def _anything(_topic: str) -> bool:
    return True


class Client(msgspec.Struct, frozen=True):
    """Who sends a request, besides what it says itself."""

    client_id: str
    client_host: str
    may_describe: Callable[[str], bool] = _anything
    """Which topics it may know of."""


# -- what no group would take -----------------------------------------------------------------------------


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, settings: ConsumerSettings) -> None:
    """Refuse what does not depend on the group."""
    _require(bool(request.group_id), "GroupId can't be empty.")
    _require(request.instance_id != "", "InstanceId can't be empty.")
    _require(request.rack_id != "", "RackId can't be empty.")
    # From v1 on members make their ids themselves (KIP-1082), so that a lost answer leaves no ghost.
    is_new_without_id = request.member_epoch == JOIN_EPOCH and version == 0
    _require(bool(request.member_id.strip()) or is_new_without_id, "MemberId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        _require(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _require(request.topic_partitions == [], "TopicPartitions must be empty when (re-)joining.")
        # An empty list is a subscription: to a pattern, say, that the client matches and no topic does.
        is_subscribed = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        _require(
            is_subscribed,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        _require(request.instance_id is not None, "InstanceId can't be null.")
    else:
        _require(request.member_epoch >= LEAVE_EPOCH, f"MemberEpoch is invalid: {request.member_epoch}.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in settings.assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(settings.assignors)}.",
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Refused(ErrorCode.INVALID_REQUEST, message)


# -- joining and staying ----------------------------------------------------------------------------------


def heartbeat(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, client: Client, now: Situation
) -> ConsumerGroupHeartbeatResponse:
    """A member reports, or somebody joins; `request` was checked and has a member id."""
    check_room(group, request.member_id, now.settings.size_max)
    topics_of_regex = _topics_of(group, request.subscribed_topic_regex, client, now)
    reported = reported_partitions(request.topic_partitions)
    before = _find(group, request, reported)
    member = _updated(before or Member(member_id=request.member_id), request, client)
    see_new_topics(group, client.may_describe, now)
    subscribe(group, before, member, now, topics_of_regex)
    shown_before, epoch_before = (before.assigned, before.epoch) if before is not None else ({}, JOIN_EPOCH)
    member = advance(group, request.member_id, reported, now)
    group.timers.expect(member.member_id, now.moment, now.settings.session_timeout_ms)
    is_full = request.member_epoch == JOIN_EPOCH or (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    # Whoever comes with the epoch before has missed an answer.
    is_told = is_full or member.assigned != shown_before or request.member_epoch != epoch_before
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=now.settings.heartbeat_interval_ms,
        assignment=_told(member) if is_told else None,
    )


def check_room(group: ConsumerGroup, member_id: str, size_max: int) -> None:
    if len(group.members) >= size_max and member_id not in group.members:
        raise Refused(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )


def advance(
    group: ConsumerGroup,
    member_id: str,
    reported: Assignment | None,
    now: Situation,
    *,
    at_once: bool = False,
) -> Member:
    """Make a new target if one is due, and bring the member a step nearer to it."""
    if targets.is_due(group, now) or (at_once and group.epoch > group.assignment_epoch):
        targets.assign(group, now)
    member = group.members[member_id]
    moved = reconcile(
        member, group.goal_of(member, now.image), reported, partial(group.is_free_for, member_id)
    )
    if moved is not member:
        group.put_progress(moved)
        if moved.classic is None and moved.state is MemberState.UNREVOKED_PARTITIONS:
            group.timers.await_revocation(member_id, now.moment, moved.rebalance_timeout_ms)
        else:
            group.timers.revoked(member_id)
    return group.members[member_id]


def _topics_of(
    group: ConsumerGroup, regex: str | None, client: Client, now: Situation
) -> ConsumerGroupRegularExpressionValue | None:
    if not regex:
        return None
    try:
        return group.regexes.get(regex) or resolved(regex, now, client.may_describe)
    except InvalidPattern as error:
        raise Refused(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error


def _find(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, reported: Assignment | None
) -> Member | None:
    """The member that reports, None for a new one. A static member that comes back is given its place."""
    is_join = request.member_epoch == JOIN_EPOCH
    known = group.static_member(request.instance_id)
    if request.instance_id is None:
        member = group.members.get(request.member_id)
    elif known is None or known.member_id == request.member_id:
        member = known
    elif not is_join:
        raise membership.fenced_instance(known, request.member_id)
    elif known.classic is None and not known.is_away:
        raise Refused(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group "
            f"because the instance id is owned by {known.member_id} member.",
        )
    else:
        return membership.replace_static(group, known, request.member_id)
    if member is None and not is_join:
        raise membership.unknown_member(group, request.member_id)
    if member is not None and not is_join:
        _check_epoch(member, request.member_epoch, reported)
    return member


def _check_epoch(member: Member, epoch: int, reported: Assignment | None) -> None:
    """A member one epoch behind may have missed an answer, if it holds no more than it should."""
    if epoch == member.epoch:
        return
    if epoch == member.previous_epoch and reported is not None:
        assigned = partitions_of(member.assigned)
        if all(
            partitions <= assigned.get(topic_id, frozenset()) for topic_id, partitions in reported.items()
        ):
            return
    comparison = "greater" if epoch > member.epoch else "smaller"
    raise Refused(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {comparison} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(member: Member, request: ConsumerGroupHeartbeatRequest, client: Client) -> Member:
    """The member with what the request says anew: what has not changed is left out of it."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    return msgspec.structs.replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms
            if request.rebalance_timeout_ms == -1
            else request.rebalance_timeout_ms
        ),
        server_assignor=member.server_assignor
        if request.server_assignor is None
        else request.server_assignor,
        topic_names=member.topic_names if names is None else frozenset(names),
        topic_regex=member.topic_regex if regex is None else regex,
        client_id=client.client_id,
        client_host=client.client_host,
        classic=None,
    )


def reported_partitions(topics: Sequence[RequestTopicPartitions] | None) -> Assignment | None:
    if topics is None:
        return None
    return {each.topic_id: frozenset(each.partitions) for each in topics if each.partitions}


def _told(member: Member) -> ToldAssignment:
    return ToldAssignment(
        topic_partitions=[
            ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(member.assigned.items())
        ]
    )
