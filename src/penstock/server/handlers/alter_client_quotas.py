"""AlterClientQuotas (key 49), v0-v1: set and remove quotas of users, client ids and addresses (KIP-546)."""

from penstock.cluster.controller.client_quotas import QuotaChange, QuotasAltered
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_client_quotas as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(2)


async def handle(ctx: RequestContext, request: api.AlterClientQuotasRequest) -> api.AlterClientQuotasResponse:
    changes = [_change(entry) for entry in request.entries]
    if not ctx.may_in_cluster(Operation.ALTER_CONFIGS):
        return _all_failed(changes, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    try:
        altered = await ctx.broker.controller.alter_quotas(changes, validate_only=request.validate_only)
    except LogError as error:  # the metadata log takes no records: nothing has changed
        return _all_failed(changes, error.code, error.client_message)
    return api.AlterClientQuotasResponse(entries=[_result(each) for each in altered])


def _change(entry: api.RequestEntryData) -> QuotaChange:
    return QuotaChange(
        entity=tuple((each.entity_type, each.entity_name) for each in entry.entity),
        values=[(op.key, None if op.remove else op.value) for op in entry.ops],
    )


def _all_failed(changes: list[QuotaChange], code: ErrorCode, message: str) -> api.AlterClientQuotasResponse:
    failed = (QuotasAltered(entity=change.entity, error=code, message=message) for change in changes)
    return api.AlterClientQuotasResponse(entries=[_result(each) for each in failed])


def _result(altered: QuotasAltered) -> api.ResponseEntryData:
    return api.ResponseEntryData(
        error_code=altered.error,
        error_message=altered.message,
        entity=[api.ResponseEntityData(entity_type=kind, entity_name=name) for kind, name in altered.entity],
    )
