"""DescribeAcls (key 29), v1-v3: the ACLs that a filter finds, together by resource.

v1: prefixed patterns, and filters for all that applies to one resource (KIP-290).
"""

from penstock.cluster.controller.acls import UNKNOWN_FILTER
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_acls import DeleteAclsFilter
from penstock.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from penstock.security.acl import AclFilter
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.create_acls import NO_AUTHORIZER

VERSIONS = range(1, 4)


def handle(ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return DescribeAclsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=None)
    if not ctx.broker.authorizer.is_enforcing:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    wanted = filter_of(request)
    if not wanted.is_known:
        return DescribeAclsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=UNKNOWN_FILTER)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for entry in ctx.broker.controller.image.acls.values():
        if wanted.matches(entry):
            key = (entry.resource_type, entry.resource_name, entry.pattern_type)
            if key not in resources:
                resources[key] = DescribeAclsResource(
                    resource_type=entry.resource_type,
                    resource_name=entry.resource_name,
                    pattern_type=entry.pattern_type,
                    acls=[],
                )
            resources[key].acls.append(
                AclDescription(
                    principal=entry.principal,
                    host=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
            )
    return DescribeAclsResponse(error_message=None, resources=list(resources.values()))


def filter_of(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        resource_type=wanted.resource_type_filter,
        resource_name=wanted.resource_name_filter,
        pattern_type=wanted.pattern_type_filter,
        principal=wanted.principal_filter,
        host=wanted.host_filter,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )
