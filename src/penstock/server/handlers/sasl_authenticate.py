"""SaslAuthenticate (key 36), v0-v2: one step of a login (KIP-152).

From v1 on, the response to the last step contains the lifetime of the login (KIP-368). A refusal does not say which
part was wrong; the gate before the dispatcher delays it and closes the connection. If no login is needed, a broker
proves the cluster's secret with it (ADR 19).
"""

import logging

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.login import IllegalState
from penstock.server.context import RequestContext
from penstock.server.login_gate import accept

VERSIONS = range(3)

log = logging.getLogger(__name__)


def handle(ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    login = ctx.peer.login
    if login is None:
        return _prove(ctx, request)
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


def _prove(ctx: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    peer = ctx.peer
    proof = peer.proof
    if proof is None:
        return _refusal(ErrorCode.ILLEGAL_SASL_STATE, "SaslAuthenticate request received without a handshake")
    try:
        response = proof.step(bytes(request.auth_bytes))
    except LoginRefused as refusal:
        peer.proof = None
        ctx.broker.strangers.note(peer, "tried to authenticate as a broker with a wrong token")
        return _refusal(ErrorCode.SASL_AUTHENTICATION_FAILED, str(refusal))
    if proof.is_proved:
        peer.proof, peer.has_proved = None, True
        log.debug("Authenticated a broker by the cluster secret. peer=%s", peer)
    return SaslAuthenticateResponse(error_message=None, auth_bytes=response)


def _refusal(code: ErrorCode, message: str) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=code, error_message=message)
