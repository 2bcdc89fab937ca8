"""ShareGroupDescribe (key 77), v1: epochs, members and assignments of share groups (KIP-932).

A group with a topic that the client may not describe is an error.
"""

from penstock.groups.describe import describe_share_group
from penstock.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from penstock.server.context import RequestContext
from penstock.server.handlers.shared.group_requests import describe_groups

VERSIONS = range(1, 2)


async def handle(ctx: RequestContext, request: ShareGroupDescribeRequest) -> ShareGroupDescribeResponse:
    service = ctx.broker.groups.shares
    return ShareGroupDescribeResponse(
        groups=await describe_groups(ctx, request, service, describe_share_group, DescribedGroup)
    )
