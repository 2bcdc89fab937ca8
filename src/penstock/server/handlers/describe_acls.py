"""DescribeAcls (key 29), v1-v3: the ACLs that match a filter, grouped by resource.

v1: prefixed patterns, and filters that match all ACLs applying to one resource (KIP-290).
"""

import msgspec

from penstock.cluster.controller.acls import UNKNOWN_FILTER
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_acls as api
from penstock.protocol.messages.delete_acls import DeleteAclsFilter
from penstock.security.acl import AclFilter
from penstock.security.operations import Operation
from penstock.server.context import RequestContext

VERSIONS = range(1, 4)

NO_AUTHORIZER = (
    "No authorizer is configured on the broker: set authorizer.class.name to use ACLs (see docs/acls.md)."
)


def handle(ctx: RequestContext, request: api.DescribeAclsRequest) -> api.DescribeAclsResponse:
    wanted = filter_of(request)
    refusal = refusal_of(ctx, Operation.DESCRIBE)
    if refusal is None and not wanted.is_known:
        refusal = ErrorCode.INVALID_REQUEST, UNKNOWN_FILTER
    if refusal is not None:
        return api.DescribeAclsResponse(error_code=refusal[0], error_message=refusal[1])
    resources: dict[tuple[int, str, int], api.DescribeAclsResource] = {}
    for entry in filter(wanted.matches, ctx.broker.controller.image.acls.values()):
        key = (entry.resource_type, entry.resource_name, entry.pattern_type)
        if key not in resources:
            resources[key] = msgspec.convert(entry, api.DescribeAclsResource, from_attributes=True)
        resources[key].acls.append(msgspec.convert(entry, api.AclDescription, from_attributes=True))
    return api.DescribeAclsResponse(error_message=None, resources=list(resources.values()))


def refusal_of(ctx: RequestContext, operation: Operation) -> tuple[ErrorCode, str | None] | None:
    """Return why a request about ACLs is refused; None when it is not."""
    if not ctx.may_in_cluster(operation):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None
    if not ctx.broker.authorizer.is_enforcing:
        return ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER
    return None


def filter_of(wanted: api.DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        resource_type=wanted.resource_type_filter,
        resource_name=wanted.resource_name_filter,
        pattern_type=wanted.pattern_type_filter,
        principal=wanted.principal_filter,
        host=wanted.host_filter,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )
