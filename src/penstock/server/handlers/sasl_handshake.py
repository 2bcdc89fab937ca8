"""SaslHandshake (key 17), v0-v1: names the mechanism of a login, and tells which there are (KIP-43).

After version 1 the exchange comes in SaslAuthenticate requests (KIP-152), after version 0 in frames without a header.
On a connection that needs no login, or has it, this is an ILLEGAL_SASL_STATE; where logins run out it begins a new one
(KIP-368).
"""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from penstock.security.sasl.login import IllegalState, MechanismNotOffered
from penstock.server.context import RequestContext


def handle(ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    login = ctx.peer.login
    if login is None:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    code = ErrorCode.NONE
    try:
        login.handshake(request.mechanism, with_headers=ctx.version >= 1)
    except MechanismNotOffered:
        code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    except IllegalState:
        code = ErrorCode.ILLEGAL_SASL_STATE
    return SaslHandshakeResponse(error_code=code, mechanisms=login.offered)
