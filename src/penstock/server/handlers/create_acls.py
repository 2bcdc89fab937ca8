"""CreateAcls (key 30), v1-v3: add ACLs, each answered by itself; one that exists already is a success.

v1: prefixed patterns (KIP-290).
"""

from collections.abc import Awaitable

from penstock.cluster.controller.acls import AclCreated
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from penstock.security.acl import AccessControlEntry
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1, 4)

NO_AUTHORIZER = (
    "No authorizer is configured on the broker: set authorizer.class.name to use ACLs (see docs/acls.md)."
)


def handle(
    ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse | Awaitable[CreateAclsResponse]:
    if not ctx.may_in_cluster(Operation.ALTER):
        return _refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None)
    if not ctx.broker.authorizer.is_enforcing:
        return _refused(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    return _create(ctx, request)


async def _create(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    try:
        created = await ctx.broker.controller.create_acls([_entry(each) for each in request.creations])
    except LogError as error:  # the metadata log takes no records: nothing was created
        created = [AclCreated(error=error.code, message=error.client_message)] * len(request.creations)
    return CreateAclsResponse(
        results=[AclCreationResult(error_code=each.error, error_message=each.message) for each in created]
    )


def _entry(creation: AclCreation) -> AccessControlEntry:
    return AccessControlEntry(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def _refused(request: CreateAclsRequest, code: ErrorCode, message: str | None) -> CreateAclsResponse:
    result = AclCreationResult(error_code=code, error_message=message)
    return CreateAclsResponse(results=[result] * len(request.creations))
