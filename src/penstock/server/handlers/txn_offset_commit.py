"""TxnOffsetCommit (key 28), v0-v5: offsets of a consumer group that take effect when a transaction commits.

v3: from a member of the group (KIP-447). v5: adds the group's partition of `__consumer_offsets` to the transaction
(KIP-890); in earlier versions AddOffsetsToTxn has added it, and this request only verifies that.
"""

from penstock.cluster.coordination.partition import InTransaction
from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.replica import Replica
from penstock.config.settings.coordinators import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from penstock.groups.offset_requests import Commits, Committer, commit, settled
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import txn_offset_commit as api
from penstock.protocol.messages.offset_commit_record import OffsetCommitKey
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import check_offset, offset_value
from penstock.server.handlers.shared.permissions import denied_topics, may_group, may_transactional_id
from penstock.transactions.admission import CoordinatorRequest
from penstock.transactions.state import Producer, TopicPartition

VERSIONS = range(6)

_KNOWS_LOADING_FROM = 2
_ABORTABLE_FROM = 4
_ADDS_FROM = 5


async def handle(ctx: RequestContext, request: api.TxnOffsetCommitRequest) -> api.TxnOffsetCommitResponse:
    refusal = _refusal(ctx, request)
    denied = denied_topics(ctx, Operation.READ, (topic.name for topic in request.topics))
    codes = {
        TopicPartition(topic.name, wanted.partition_index): refusal
        or (ErrorCode.TOPIC_AUTHORIZATION_FAILED if topic.name in denied else ErrorCode.NONE)
        or check_offset(ctx, topic.name, wanted)
        for topic in request.topics
        for wanted in topic.partitions
    }
    now_ms = ctx.broker.clock.now_ms()
    topics = ctx.broker.controller.image.topics
    commits = [
        (
            OffsetCommitKey(group=request.group_id, topic=topic.name, partition=wanted.partition_index),
            offset_value(wanted, topics[topic.name].topic_id, now_ms),
        )
        for topic in request.topics
        for wanted in topic.partitions
        if not codes[TopicPartition(topic.name, wanted.partition_index)]
    ]
    code = (
        _error_for_version(await _commit(ctx, request, commits), ctx.version) if commits else ErrorCode.NONE
    )
    return api.TxnOffsetCommitResponse(
        topics=[
            api.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    api.TxnOffsetCommitResponsePartition(
                        partition_index=wanted.partition_index,
                        error_code=codes[TopicPartition(topic.name, wanted.partition_index)] or code,
                    )
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _refusal(ctx: RequestContext, request: api.TxnOffsetCommitRequest) -> ErrorCode:
    if not may_transactional_id(ctx, Operation.WRITE, request.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not may_group(ctx, Operation.READ, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE


async def _commit(ctx: RequestContext, request: api.TxnOffsetCommitRequest, commits: Commits) -> ErrorCode:
    """Commit once the group's partition is verified to be part of the transaction."""
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    count = ctx.broker.groups.shards.partition_count
    home = TopicPartition(CONSUMER_OFFSETS, partition_for(request.group_id, count) if count else 0)
    leader = ctx.broker.replicas.leader_of(*home)
    if not isinstance(leader, Replica):
        return ErrorCode.NOT_COORDINATOR
    producer = Producer(request.producer_id, request.producer_epoch)
    committer = Committer(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        generation=request.generation_id,
        version=0,
    )
    admissions = ctx.broker.admissions
    permit = admissions.permit(leader, producer)
    if permit is not None:
        outcome = commit(ctx.broker.groups, committer, commits, InTransaction(*producer, permit))
    else:
        coordinator_request = CoordinatorRequest.for_request(
            adds=ctx.version >= _ADDS_FROM,
            verifies=ctx.broker.config[TRANSACTION_PARTITION_VERIFICATION_ENABLE],
        )
        admission = admissions.enter(producer, [(leader, 0)])
        try:
            found = await admission.outcome(
                admissions.verifier, request.transactional_id, coordinator_request
            )
            verdict = found[leader]
            if isinstance(verdict, ErrorCode):
                return verdict
            outcome = commit(ctx.broker.groups, committer, commits, InTransaction(*producer, verdict))
        finally:
            admission.close()
    return await settled(outcome)


def _error_for_version(code: ErrorCode, version: int) -> ErrorCode:
    """Translate an error for this version of TxnOffsetCommit."""
    if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _KNOWS_LOADING_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE  # KAFKA-7296: the other error is fatal to these clients
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.CONCURRENT_TRANSACTIONS and version < _ADDS_FROM:
        return (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            if version >= _KNOWS_LOADING_FROM
            else ErrorCode.COORDINATOR_NOT_AVAILABLE
        )
    return code
