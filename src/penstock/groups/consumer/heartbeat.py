"""ConsumerGroupHeartbeat to a KIP-848 group: join, stay, leave.

Everything that can be rejected is rejected before anything changes.
"""

from functools import partial

import msgspec

from penstock.config.patterns import InvalidPattern
from penstock.groups.base.assignment import Assignment, topic_messages
from penstock.groups.base.context import ConsumerContext, ConsumerSettings
from penstock.groups.base.errors import GroupError, fenced_member, group_full, require, unknown_member
from penstock.groups.base.member import JOIN_EPOCH, LEAVE_EPOCH, Client
from penstock.groups.base.timers import Awaited
from penstock.groups.consumer import membership, targets
from penstock.groups.consumer.group import ConsumerGroup
from penstock.groups.consumer.member import LEAVE_STATIC_EPOCH, Member, assignment_in
from penstock.groups.consumer.reconcile import reconcile
from penstock.groups.consumer.records import ResolvedRegex
from penstock.groups.consumer.states import MemberState
from penstock.groups.consumer.subscription import match_created_topics, resolve, subscribe
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import consumer_group_heartbeat as wire
from penstock.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, settings: ConsumerSettings) -> None:
    """Reject a request that no group would accept."""
    require(bool(request.group_id), "GroupId can't be empty.")
    require(request.instance_id != "", "InstanceId can't be empty.")
    require(request.rack_id != "", "RackId can't be empty.")
    # From v1 on members generate their ids (KIP-1082), so that a lost response leaves no ghost member.
    is_new_without_id = request.member_epoch == JOIN_EPOCH and version == 0
    require(bool(request.member_id.strip()) or is_new_without_id, "MemberId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        require(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        require(request.topic_partitions == [], "TopicPartitions must be empty when (re-)joining.")
        # An empty list is a subscription: for example to a pattern that the client matches and no topic does.
        require(
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        require(request.instance_id is not None, "InstanceId can't be null.")
    else:
        require(request.member_epoch >= LEAVE_EPOCH, f"MemberEpoch is invalid: {request.member_epoch}.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in settings.assignors:
        raise GroupError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(settings.assignors)}.",
        )


# -- joining and staying ----------------------------------------------------------------------------------


def heartbeat(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, client: Client, ctx: ConsumerContext
) -> ConsumerGroupHeartbeatResponse:
    """Handle the heartbeat or the join of a member. `request` has passed `check_request` and has a member id."""
    check_room(group, request.member_id, ctx.settings.size_max)
    resolved = _resolve(group, request.subscribed_topic_regex, client, ctx)
    owned = _owned_partitions(request)
    before = _find(group, request, owned)
    member = _update(before or Member(member_id=request.member_id), request, client)
    match_created_topics(group, client.may_describe, ctx)
    subscribe(group, before, member, ctx, resolved)
    assigned_before, epoch_before = (
        (before.assigned, before.epoch) if before is not None else ({}, JOIN_EPOCH)
    )
    member = advance(group, request.member_id, owned, ctx)
    group.timers.start(member.member_id, Awaited.HEARTBEAT, ctx.now, ctx.settings.session_timeout_ms)
    is_full_request = request.member_epoch == JOIN_EPOCH or (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )
    # A member that sends its previous epoch has missed a response.
    has_missed_response = request.member_epoch != epoch_before
    has_assignment = is_full_request or member.assigned != assigned_before or has_missed_response
    assignment = None
    if has_assignment:
        topics = topic_messages(member.assigned, wire.ResponseTopicPartitions)
        assignment = wire.Assignment(topic_partitions=topics)
    return ConsumerGroupHeartbeatResponse(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=ctx.settings.heartbeat_interval_ms,
        assignment=assignment,
    )


def check_room(group: ConsumerGroup, member_id: str, size_max: int) -> None:
    if len(group.members) >= size_max and member_id not in group.members:
        raise group_full("consumer", size_max)


def advance(
    group: ConsumerGroup,
    member_id: str,
    owned: Assignment | None,
    ctx: ConsumerContext,
    *,
    at_once: bool = False,
) -> Member:
    """Make a new target assignment if one is due, and move the member one step towards it."""
    is_due = group.is_target_due(ctx.now, ctx.settings.assignment_interval_ms)
    if is_due or (at_once and group.epoch > group.assignment_epoch):
        targets.update_target_assignment(group, ctx)
    member = group.members[member_id]
    moved = reconcile(
        member, group.target_assignment_of(member, ctx.image), owned, partial(group.is_free_for, member_id)
    )
    if moved is not member:
        group.put_progress(moved)
        if moved.classic is None and moved.state is MemberState.UNREVOKED_PARTITIONS:
            group.timers.start(member_id, Awaited.REVOCATION, ctx.now, moved.rebalance_timeout_ms)
        else:
            group.timers.stop(member_id, Awaited.REVOCATION)
    return group.members[member_id]


def _resolve(
    group: ConsumerGroup, regex: str | None, client: Client, ctx: ConsumerContext
) -> ResolvedRegex | None:
    if not regex:
        return None
    try:
        return group.regexes.get(regex) or resolve(regex, ctx, client.may_describe)
    except InvalidPattern as error:
        raise GroupError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error


def _find(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, owned: Assignment | None
) -> Member | None:
    """Return the member, None for a new one. A static member that returns gets its partitions back."""
    is_join = request.member_epoch == JOIN_EPOCH
    known = group.static_member(request.instance_id)
    if request.instance_id is None:
        member = group.members.get(request.member_id)
    elif known is None or known.member_id == request.member_id:
        member = known
    elif not is_join:
        raise membership.fenced_instance(known, request.member_id)
    elif known.classic is None and not known.is_away:
        raise GroupError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group "
            f"because the instance id is owned by {known.member_id} member.",
        )
    else:
        return membership.replace_static(group, known, request.member_id)
    if member is None and not is_join:
        raise unknown_member(group.group_id, request.member_id)
    if member is not None and not is_join:
        _check_epoch(member, request.member_epoch, owned)
    return member


def _check_epoch(member: Member, epoch: int, owned: Assignment | None) -> None:
    """A member one epoch behind may have missed a response, if it owns no more than its assignment."""
    if epoch == member.epoch:
        return
    if epoch == member.previous_epoch and owned is not None:
        assigned = assignment_in(member.assigned)
        if all(partitions <= assigned.get(topic_id, frozenset()) for topic_id, partitions in owned.items()):
            return
    raise fenced_member("consumer", epoch, member.epoch)


def _update(member: Member, request: ConsumerGroupHeartbeatRequest, client: Client) -> Member:
    """Return the member with the fields that the request contains: clients leave out unchanged ones."""
    sent = {
        "instance_id": request.instance_id,
        "rack_id": request.rack_id,
        "rebalance_timeout_ms": None if request.rebalance_timeout_ms == -1 else request.rebalance_timeout_ms,
        "server_assignor": request.server_assignor,
        "topic_regex": request.subscribed_topic_regex,
    }
    names = request.subscribed_topic_names
    return msgspec.structs.replace(
        member,
        **{name: value for name, value in sent.items() if value is not None},
        topic_names=member.topic_names if names is None else frozenset(names),
        client_id=client.client_id,
        client_host=client.client_host,
        classic=None,
    )


def _owned_partitions(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    """Return the partitions that the member reports to own; None when it reports nothing."""
    if request.topic_partitions is None:
        return None
    return {each.topic_id: frozenset(each.partitions) for each in request.topic_partitions if each.partitions}
