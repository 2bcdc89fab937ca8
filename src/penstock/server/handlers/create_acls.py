"""CreateAcls (key 30), v1-v3: add ACLs, each with a separate result; an ACL that already exists is a success.

v1: prefixed patterns (KIP-290).
"""

from penstock.cluster.controller.acls import AclCreated
from penstock.protocol.messages import create_acls as api
from penstock.security.acl import AccessControlEntry
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.describe_acls import refusal_of
from penstock.storage.errors import LogError

VERSIONS = range(1, 4)


async def handle(ctx: RequestContext, request: api.CreateAclsRequest) -> api.CreateAclsResponse:
    refusal = refusal_of(ctx, Operation.ALTER)
    try:
        if refusal is None:
            created = await ctx.broker.controller.create_acls([_entry(each) for each in request.creations])
    except LogError as error:  # the metadata log takes no records: nothing was created
        refusal = error.code, error.client_message
    if refusal is not None:
        created = [AclCreated(error=refusal[0], message=refusal[1])] * len(request.creations)
    return api.CreateAclsResponse(
        results=[api.AclCreationResult(error_code=each.error, error_message=each.message) for each in created]
    )


def _entry(creation: api.AclCreation) -> AccessControlEntry:
    return AccessControlEntry(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )
