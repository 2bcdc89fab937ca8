"""CreatePartitions (key 37), v0-v3: add partitions to topics."""

from collections import Counter

from penstock.cluster.controller.create_partitions import NewPartitions, PartitionsCreated
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import create_partitions as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.permissions import may_topic
from penstock.storage.errors import LogError

VERSIONS = range(4)

_REFUSES_FROM = 3  # older clients know no THROTTLING_QUOTA_EXCEEDED (KIP-599)


async def handle(ctx: RequestContext, request: api.CreatePartitionsRequest) -> api.CreatePartitionsResponse:
    counts = Counter(topic.name for topic in request.topics)
    denied = [n for n, count in counts.items() if count == 1 and not may_topic(ctx, Operation.ALTER, n)]
    wanted = [
        NewPartitions(
            name=t.name,
            count=t.count,
            assignments=None if t.assignments is None else [a.broker_ids for a in t.assignments],
        )
        for t in request.topics
        if t.name not in denied
    ]
    quota = ctx.mutation_quota(strict_from=_REFUSES_FROM)
    try:
        grown = await ctx.broker.controller.create_partitions(
            wanted, validate_only=request.validate_only, charge=quota.charge
        )
    except LogError as error:  # the metadata log takes no records: nothing has changed
        grown = [
            PartitionsCreated(name=t.name, error=error.code, message=error.client_message) for t in wanted
        ]
    return api.CreatePartitionsResponse(
        throttle_time_ms=quota.wait_ms,
        results=[
            api.CreatePartitionsTopicResult(name=t.name, error_code=t.error, error_message=t.message)
            for t in grown
        ]
        + [
            api.CreatePartitionsTopicResult(
                name=name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=None
            )
            for name in denied
        ],
    )
