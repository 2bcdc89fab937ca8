"""DeleteAcls (key 31), v1-v3: remove the ACLs that match filters; the response lists the removed ACLs per filter."""

from msgspec.structs import asdict

from penstock.cluster.controller.acls import AclsDeleted
from penstock.protocol.messages import delete_acls as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.server.handlers.describe_acls import filter_of, refusal_of
from penstock.storage.errors import LogError

VERSIONS = range(1, 4)


async def handle(ctx: RequestContext, request: api.DeleteAclsRequest) -> api.DeleteAclsResponse:
    refusal = refusal_of(ctx, Operation.ALTER)
    try:
        if refusal is None:
            deleted = await ctx.broker.controller.delete_acls([filter_of(each) for each in request.filters])
    except LogError as error:  # the metadata log takes no records: nothing was deleted
        refusal = error.code, error.client_message
    if refusal is not None:
        deleted = [AclsDeleted(error=refusal[0], message=refusal[1])] * len(request.filters)
    return api.DeleteAclsResponse(
        filter_results=[
            api.DeleteAclsFilterResult(
                error_code=each.error,
                error_message=each.message,
                matching_acls=[
                    api.DeleteAclsMatchingAcl(error_message=None, **asdict(entry)) for entry in each.entries
                ],
            )
            for each in deleted
        ]
    )
