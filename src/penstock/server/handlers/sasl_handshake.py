"""SaslHandshake (key 17), v0-v1: selects the mechanism of a login, and returns the supported ones (KIP-43).

After version 1 the exchange comes in SaslAuthenticate requests (KIP-152), after version 0 in frames without a header.
On a connection that needs no login, or is logged in, this is an ILLEGAL_SASL_STATE; if logins expire, it begins a new
one (KIP-368). Brokers use PENSTOCK-CLUSTER where no login is needed (ADR 19).
"""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from penstock.security.sasl import cluster
from penstock.security.sasl.login import IllegalState, MechanismNotOffered
from penstock.server.context import RequestContext

VERSIONS = range(2)

_HAS_HEADERS_FROM = 1


def handle(ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    login = ctx.peer.login
    if login is None:
        return _begin_proof(ctx, request)
    code = ErrorCode.NONE
    try:
        login.handshake(request.mechanism, with_headers=ctx.version >= _HAS_HEADERS_FROM)
    except MechanismNotOffered:
        code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    except IllegalState:
        code = ErrorCode.ILLEGAL_SASL_STATE
    return SaslHandshakeResponse(error_code=code, mechanisms=login.offered)


def _begin_proof(ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    is_meant = request.mechanism == cluster.NAME and ctx.version >= _HAS_HEADERS_FROM
    ctx.peer.proof = ctx.broker.secret.begin_proof() if is_meant else None
    if ctx.peer.proof is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    return SaslHandshakeResponse(mechanisms=[cluster.NAME])
