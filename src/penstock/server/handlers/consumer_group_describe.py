"""ConsumerGroupDescribe (key 69), v0-v1: epochs, members and assignments of KIP-848 groups.

v1: marks members that still use the classic protocol. A group with a topic that the client may not describe is an
error.
"""

from penstock.groups.describe import describe_consumer_group
from penstock.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import describe_groups

VERSIONS = range(2)


async def handle(ctx: RequestContext, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    service = ctx.broker.groups.consumers
    return ConsumerGroupDescribeResponse(
        groups=await describe_groups(ctx, request, service, describe_consumer_group, DescribedGroup)
    )
