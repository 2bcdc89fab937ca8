"""SaslAuthenticate (key 36), v0-v2: one step of a login (KIP-152).

The answer to the last step tells how long the login holds, from version 1 on (KIP-368). A refusal does not say which
part was wrong; the gate before the dispatcher sends it late and closes the connection.
"""

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.login import IllegalState
from penstock.server.context import RequestContext
from penstock.server.login_gate import accept


def handle(ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    login = ctx.peer.login
    if login is None:
        return _refusal(ErrorCode.ILLEGAL_SASL_STATE, "SaslAuthenticate request received without a handshake")
    try:
        step = login.authenticate(bytes(request.auth_bytes))
    except IllegalState as error:
        return _refusal(ErrorCode.ILLEGAL_SASL_STATE, str(error))
    except LoginRefused as refusal:
        return _refusal(ErrorCode.SASL_AUTHENTICATION_FAILED, str(refusal))
    if login.is_done:
        accept(login, ctx.peer)
    return SaslAuthenticateResponse(
        error_message=None, auth_bytes=step.answer, session_lifetime_ms=step.lifetime_ms
    )


def _refusal(code: ErrorCode, message: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=message)
