"""DescribeUserScramCredentials (key 50), v0: which users can log in by SCRAM, and how (KIP-554).

The response has mechanisms and iterations, never anything that could help to log in. A request without names returns
all users. Needs DESCRIBE on the cluster.
"""

from collections import Counter

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import describe_user_scram_credentials as api
from penstock.security.operations import Operation
from penstock.server.context import RequestContext

VERSIONS = range(1)

_TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
_UNKNOWN = "Attempt to describe a user credential that does not exist: "


def handle(
    ctx: RequestContext, request: api.DescribeUserScramCredentialsRequest
) -> api.DescribeUserScramCredentialsResponse:
    if not ctx.may_in_cluster(Operation.DESCRIBE):
        return api.DescribeUserScramCredentialsResponse(
            error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message="Cluster authorization failed."
        )
    infos: dict[str, list[api.CredentialInfo]] = {}
    for (user, mechanism), credential in sorted(ctx.broker.controller.image.credentials.items()):
        infos.setdefault(user, []).append(
            api.CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
        )
    wanted = Counter(each.name for each in request.users or ()) or Counter(dict.fromkeys(infos, 1))
    return api.DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[_result(user, times, infos.get(user, [])) for user, times in wanted.items()],
    )


def _result(
    user: str, times_named: int, infos: list[api.CredentialInfo]
) -> api.DescribeUserScramCredentialsResult:
    if times_named > 1:
        return api.DescribeUserScramCredentialsResult(
            user=user, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=_TWICE + user
        )
    if not infos:
        return api.DescribeUserScramCredentialsResult(
            user=user, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=_UNKNOWN + user
        )
    return api.DescribeUserScramCredentialsResult(user=user, error_message=None, credential_infos=infos)
