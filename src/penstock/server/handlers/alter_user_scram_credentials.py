"""AlterUserScramCredentials (key 51), v0: set or remove users' SCRAM passwords (KIP-554).

The client sends the salted password, never the password itself. Needs ALTER on the cluster. Without an authorizer, when
that check does nothing, only brokers may change the user that brokers log in with: a client with its password counts as
a broker (ADR 19).
"""

from penstock.cluster.controller.scram_credentials import CredentialAltered, Deletion, Upsertion
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from penstock.security.operations import Operation
from penstock.server.context import RequestContext
from penstock.storage.errors import LogError

VERSIONS = range(1)


async def handle(
    ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    if not ctx.may_in_cluster(Operation.ALTER):
        return _all(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    if not ctx.broker.authorizer.is_enforcing and not ctx.peer.is_broker:
        brokers = {each.name for each in ctx.broker.broker_principals}
        if not brokers.isdisjoint(_users(request)):
            return _all(
                request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Brokers log in as one of these users"
            )
    try:
        altered = await ctx.broker.controller.alter_scram_credentials(
            [Deletion(user=each.name, mechanism=each.mechanism) for each in request.deletions],
            [
                Upsertion(
                    user=each.name,
                    mechanism=each.mechanism,
                    iterations=each.iterations,
                    salt=bytes(each.salt),
                    salted_password=bytes(each.salted_password),
                )
                for each in request.upsertions
            ],
        )
    except LogError as error:  # the metadata log takes no records: nothing has changed
        return _all(request, error.code, error.client_message)
    return _response(altered)


def _all(
    request: AlterUserScramCredentialsRequest, code: ErrorCode, message: str
) -> AlterUserScramCredentialsResponse:
    return _response([CredentialAltered(user=user, error=code, message=message) for user in _users(request)])


def _users(request: AlterUserScramCredentialsRequest) -> list[str]:
    """Each once."""
    return list(dict.fromkeys([*(d.name for d in request.deletions), *(u.name for u in request.upsertions)]))


def _response(altered: list[CredentialAltered]) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=each.user, error_code=each.error, error_message=each.message)
            for each in altered
        ]
    )
