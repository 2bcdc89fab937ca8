"""Stands between a connection and the dispatcher on a listener that asks for a login.

Until the login is done only what belongs to it goes through. A login that fails is answered, and its connection closed,
after `connection.failed.authentication.delay.ms`: guessing is slow, and nothing else waits for it.
"""

import logging
import struct
from collections.abc import Callable

from penstock.observability.clock import Clock
from penstock.observability.completion import Reply
from penstock.observability.seldom import Seldom
from penstock.protocol import apis
from penstock.security.sasl.exchange import LoginRefused
from penstock.security.sasl.login import SASL_HANDSHAKE, Login, State
from penstock.server.connection_host import Answer, CloseConnection, Dispatch, Farewell, Peer

log = logging.getLogger(__name__)

_KEY = struct.Struct(">h")
_SIZE = struct.Struct(">i")
_FAILED = "failed to log in"


class LoginGate:
    def __init__(
        self,
        dispatcher: Dispatch,
        login: Login,
        *,
        failed_delay_ms: int,
        seldom: Seldom,
        clock: Clock,
        on_done: Callable[[], None],
    ) -> None:
        """`on_done` is called when the connection may have all that others have."""
        self._seldom = seldom
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
            name = apis.APIS[api_key].name if api_key in apis.APIS else "something unknown"
            return self._refuse(peer, f"sent {name} where a login was expected")
        was_done = login.principal is not None
        answer = self._dispatcher.dispatch(frame, peer)
        if login.state is State.FAILED:
            return self._refuse(peer, _FAILED, answer)
        if login.is_done and not was_done:
            self._on_done()
        return answer

    def _take_token(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        """A message of the exchange by itself, as clients send it after SaslHandshake v0; so is the answer."""
        try:
            step = self._login.authenticate(bytes(frame))
        except LoginRefused:
            return self._refuse(peer, _FAILED)
        if self._login.is_done:
            accept(self._login, peer)
            self._on_done()
        return (_SIZE.pack(len(step.answer)), step.answer)

    def _refuse(self, peer: Peer, reason: str, answer: Answer | Reply[Answer] | None = None) -> Reply[Answer]:
        """Wait, answer if there is an answer, close."""
        return Reply.of(self._refuse_later(peer, reason, answer), is_exclusive=True)

    async def _refuse_later(self, peer: Peer, reason: str, answer: Answer | Reply[Answer] | None) -> Answer:
        if times := self._seldom.times((peer.host, reason)):
            again = "" if times == 1 else f" ({times} times since this was told last)"
            log.warning("%s of listener %s %s%s", peer, peer.listener, reason, again)
        await self._clock.sleep(self._failed_delay_ms)
        if answer is None:
            raise CloseConnection("")
        assert isinstance(answer, list | tuple), "a login is answered at once"
        raise Farewell("", answer)


def accept(login: Login, peer: Peer) -> None:
    """The connection is of whoever has logged in."""
    assert login.principal is not None, "the login is not done"
    peer.principal = login.principal
    log.debug("%s logged in as %s", peer, login.principal)
