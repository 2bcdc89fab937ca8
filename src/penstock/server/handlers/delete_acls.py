"""DeleteAcls (key 31), v1-v3: remove what filters find; each filter is told what it removed."""

from collections.abc import Awaitable

from penstock.cluster.controller.acls import AclsDeleted
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from penstock.security.acl import AccessControlEntry
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.create_acls import NO_AUTHORIZER
from penstock.server.handlers.describe_acls import filter_of
from penstock.storage.errors import LogError

VERSIONS = range(1, 4)


def handle(
    ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse | Awaitable[DeleteAclsResponse]:
    if not ctx.may_in_cluster(Operation.ALTER):
        return _refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    if not ctx.broker.authorizer.is_enforcing:
        return _refused(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    return _delete(ctx, request)


async def _delete(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    try:
        deleted = await ctx.broker.controller.delete_acls([filter_of(each) for each in request.filters])
    except LogError as error:  # the metadata log takes no records: nothing was deleted
        deleted = [AclsDeleted(error=error.code, message=error.client_message)] * len(request.filters)
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=each.error,
                error_message=each.message,
                matching_acls=[_matching(entry) for entry in each.entries],
            )
            for each in deleted
        ]
    )


def _matching(entry: AccessControlEntry) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission_type,
    )


def _refused(request: DeleteAclsRequest, code: ErrorCode, message: str | None) -> DeleteAclsResponse:
    result = DeleteAclsFilterResult(error_code=code, error_message=message)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
