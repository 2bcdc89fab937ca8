"""The gate between a connection and the dispatcher on listeners with SASL.

Until the login is done only requests that belong to it pass. A failed login is answered and its connection closed after
`connection.failed.authentication.delay.ms`, which slows down guessing; no other connection waits for it.
"""

import logging
import struct
from collections.abc import Callable

from penstock.observability.log_limiter import LogLimiter
from penstock.protocol import apis
from penstock.runtime.clock import Clock
from penstock.runtime.completion import Reply
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.login import SASL_HANDSHAKE, Login, State
from penstock.server.connections import Answer, CloseAfterResponse, CloseConnection, Dispatch, Peer

log = logging.getLogger(__name__)

_KEY = struct.Struct(">h")
_SIZE = struct.Struct(">i")
_FAILED = "the login was refused"


class LoginGate:
    def __init__(
        self,
        dispatcher: Dispatch,
        login: Login,
        *,
        failed_delay_ms: int,
        log_limiter: LogLimiter,
        clock: Clock,
        on_done: Callable[[], None],
    ) -> None:
        """`on_done` is called when the login is done."""
        self._log_limiter = log_limiter
        self._dispatcher = dispatcher
        self._login = login
        self._failed_delay_ms = failed_delay_ms
        self._clock = clock
        self._on_done = on_done

    def dispatch(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        login = self._login
        if login.is_done and login.expires_at_ms is None:
            return self._dispatcher.dispatch(frame, peer)
        if login.takes_bare_tokens:
            return self._take_token(frame, peer)
        api_key: int = _KEY.unpack_from(frame)[0] if len(frame) >= _KEY.size else -1
        if login.is_done and login.has_expired() and api_key != SASL_HANDSHAKE:
            login.expire()
            raise CloseConnection("its login has run out and was not renewed (connections.max.reauth.ms)")
        if login.refuses(api_key):
            login.fail()
            name = apis.APIS[api_key].name if api_key in apis.APIS else "an unknown API"
            return self._refuse(peer, f"the client sent {name} before its login")
        was_done = login.principal is not None
        response = self._dispatcher.dispatch(frame, peer)
        if login.state is State.FAILED:
            return self._refuse(peer, _FAILED, response)
        if login.is_done and not was_done:
            self._on_done()
        return response

    def _take_token(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        """Handle a token without a header, as clients send it after SaslHandshake v0; the answer has none either."""
        try:
            step = self._login.authenticate(bytes(frame))
        except LoginRefused:
            return self._refuse(peer, _FAILED)
        if self._login.is_done:
            accept(self._login, peer)
            self._on_done()
        return (_SIZE.pack(len(step.answer)), step.answer)

    def _refuse(
        self, peer: Peer, reason: str, response: Answer | Reply[Answer] | None = None
    ) -> Reply[Answer]:
        """Wait, send the answer if there is one, and close."""
        return Reply.of(self._refuse_later(peer, reason, response), is_exclusive=True)

    async def _refuse_later(self, peer: Peer, reason: str, response: Answer | Reply[Answer] | None) -> Answer:
        if times := self._log_limiter.times((peer.host, reason)):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            log.warning(
                "Failed authentication: %s%s. peer=%s listener=%s", reason, again, peer, peer.listener
            )
        await self._clock.sleep(self._failed_delay_ms)
        if response is None:
            raise CloseConnection("")
        assert isinstance(response, list | tuple), "a login is answered at once"
        raise CloseAfterResponse("", response)


def accept(login: Login, peer: Peer) -> None:
    """Set the principal of the connection from its login."""
    assert login.principal is not None, "the login is not done"
    peer.principal = login.principal
    log.debug("Logged in. peer=%s principal=%s", peer, login.principal)
