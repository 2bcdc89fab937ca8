"""AddOffsetsToTxn (key 25), v0-v4: a transaction will commit offsets of a consumer group.

The partition of `__consumer_offsets` that the group lives in becomes part of the transaction. v2: PRODUCER_FENCED.
"""

from penstock.cluster.coordination.placement import partition_for
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_group, may_transactional_id
from penstock.server.handlers.shared.transaction_errors import error_for_version
from penstock.transactions.state import Producer, TopicPartition

VERSIONS = range(5)

_KNOWS_FENCED_FROM = 2


async def handle(ctx: RequestContext, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    if not may_transactional_id(ctx, Operation.WRITE, request.transactional_id):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if not may_group(ctx, Operation.READ, request.group_id):
        return AddOffsetsToTxnResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    groups = ctx.broker.groups
    await groups.ensure_ready(request.group_id)
    count = groups.shards.partition_count
    if not count:
        return AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    code = await ctx.broker.transactions.add_partitions(
        request.transactional_id,
        Producer(request.producer_id, request.producer_epoch),
        [TopicPartition(CONSUMER_OFFSETS, partition_for(request.group_id, count))],
    )
    return AddOffsetsToTxnResponse(
        error_code=error_for_version(code, ctx.version, knows_fenced_from=_KNOWS_FENCED_FROM)
    )
