"""The common part of ShareFetch and ShareAcknowledge: checks of the request, and acknowledgements."""

import asyncio
from collections.abc import Awaitable, Sequence

from penstock.groups.share.heartbeat import is_valid_member_id
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import share_acknowledge, share_fetch
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import denied_topics, may_group
from penstock.share.partition.values import Acknowledgement, AcknowledgeType
from penstock.share.partitions import Outcome
from penstock.share.sessions import MemberKey, TopicPartition
from penstock.share.state.values import SharePartitionKey

_RENEWS_FROM = 2  # KIP-1222

Batch = share_fetch.AcknowledgementBatch | share_acknowledge.AcknowledgementBatch
Topics = Sequence[share_fetch.FetchTopic] | Sequence[share_acknowledge.AcknowledgeTopic]
Outcomes = dict[TopicPartition, Outcome | Awaitable[Outcome]]
_DONE = Outcome()


def refusal_of(ctx: RequestContext, group_id: str | None, member_id: str | None) -> ErrorCode:
    """Return the error of a request that is not allowed or invalid."""
    if not ctx.broker.shares.is_enabled:
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is None:
        return ErrorCode.INVALID_REQUEST
    if not may_group(ctx, Operation.READ, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if not is_valid_member_id(member_id):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def has_acknowledgements(topics: Topics) -> bool:
    return any(partition.acknowledgement_batches for topic in topics for partition in topic.partitions)


def acknowledge(ctx: RequestContext, member: MemberKey, topics: Topics, *, is_renewal: bool) -> Outcomes:
    """Apply the acknowledgements of a member, in the order of its requests; `wait_for_outcomes` returns the results."""
    outcomes: Outcomes = {}
    without_batches: list[TopicPartition] = []
    has_any = False
    settings = ctx.broker.shares.settings(member.group_id)
    denied = denied_topics(ctx, Operation.READ, (topic.topic_id for topic in topics))
    for topic in topics:
        known = ctx.broker.controller.image.topic_by_id(topic.topic_id)
        for partition in topic.partitions:
            name = TopicPartition(topic.topic_id, partition.partition_index)
            batches = partition.acknowledgement_batches
            if known is None:
                outcomes[name] = Outcome(ErrorCode.UNKNOWN_TOPIC_ID)
            elif not _is_valid(batches, allows_renewals=ctx.version >= _RENEWS_FROM, is_renewal=is_renewal):
                outcomes[name] = Outcome(ErrorCode.INVALID_REQUEST)
            elif topic.topic_id in denied:
                outcomes[name] = Outcome(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            elif name.partition not in known.partitions:
                outcomes[name] = Outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            elif not batches:
                without_batches.append(name)
            else:
                has_any = True
                outcomes[name] = ctx.broker.shares.partitions.acknowledge(
                    SharePartitionKey(member.group_id, *name),
                    settings,
                    member.member_id,
                    [Acknowledgement(b.first_offset, b.last_offset, b.acknowledge_types) for b in batches],
                )
    if has_any:  # as in Kafka; clients ignore these results
        outcomes.update(dict.fromkeys(without_batches, _DONE))
    return outcomes


async def wait_for_outcomes(outcomes: Outcomes) -> dict[TopicPartition, Outcome]:
    """Wait until all acknowledgements are written or refused."""
    later = [outcome for outcome in outcomes.values() if not isinstance(outcome, Outcome)]
    results = iter(await asyncio.gather(*later))
    return {
        name: outcome if isinstance(outcome, Outcome) else next(results) for name, outcome in outcomes.items()
    }


def _is_valid(batches: Sequence[Batch], *, allows_renewals: bool, is_renewal: bool) -> bool:
    """Whether the offsets ascend, and each batch has one type for all of its offsets or one for each."""
    highest = AcknowledgeType.RENEW if allows_renewals else AcknowledgeType.REJECT
    previous_offset = -1
    for batch in batches:
        types = batch.acknowledge_types
        if not previous_offset <= batch.first_offset <= batch.last_offset:
            return False
        if len(types) not in (1, batch.last_offset - batch.first_offset + 1):
            return False
        if min(types) < AcknowledgeType.GAP or max(types) > highest:
            return False
        if AcknowledgeType.RENEW in types and not is_renewal:
            return False
        previous_offset = batch.last_offset
    return True
