"""A listener with TLS: accepts sockets and makes connections of those that complete the handshake.

A socket counts as a connection as soon as it is accepted, so the limits apply to half-open ones too, and the handshake
has a timeout. A failed handshake is counted and logged, rate-limited by address. Each connection uses the newest
certificates.
"""

import asyncio
import contextlib
import logging
import socket
import ssl

from penstock.observability.log_limiter import LogLimiter
from penstock.security.principal_rules import NoMatchingRule
from penstock.server.connection import Connection
from penstock.server.connections import ConnectionContext, Peer
from penstock.server.listener_security import ListenerSecurity
from penstock.server.secure_listeners import ListenerTls

log = logging.getLogger(__name__)

_HANDSHAKE_S_MAX = 10.0
_CLOSE_S_MAX = 3.0
_ACCEPT_AGAIN_S = 0.1


class TlsListener:
    """Accepts connections from `start_serving` until `close`."""

    def __init__(
        self, host: ConnectionContext, listener: str, security: ListenerSecurity, listening: socket.socket
    ) -> None:
        assert security.tls is not None, "the listener speaks TLS"
        self._host = host
        self._listener = listener
        self._security = security
        self._tls: ListenerTls = security.tls
        self._listening = listening
        self._log_limiter = LogLimiter(host.clock)
        self._accepting: asyncio.Task[None] | None = None
        self._handshakes: set[asyncio.Task[None]] = set()

    async def start_serving(self) -> None:
        self._accepting = asyncio.get_running_loop().create_task(
            self._accept(), name=f"accept-{self._listener}"
        )

    def close(self) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
        for task in self._handshakes:
            task.cancel()

    async def wait_closed(self) -> None:
        tasks = [*self._handshakes, *([self._accepting] if self._accepting is not None else [])]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._listening.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, address = await loop.sock_accept(self._listening)
            except OSError as error:  # no descriptors are left: others may free some
                if self._log_limiter.times("accept"):
                    log.error("Cannot accept connections: %s. listener=%s", error, self._listener)  # noqa: TRY400
                await asyncio.sleep(_ACCEPT_AGAIN_S)
                continue
            handshake = _Handshake(
                Peer(self._listener, str(address[0]), int(address[1])), accepted, self._host
            )
            task = loop.create_task(self._handshake_one(handshake), name="tls-handshake")
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)
            await asyncio.sleep(0)  # many new connections must not block established ones

    async def _handshake_one(self, handshake: "_Handshake") -> None:
        peer = handshake.peer
        try:
            refusal = self._host.admits(peer.host)
            if refusal is not None:
                handshake.close(refusal)
                return
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: _TlsConnection(self._host, handshake, self._security),
                handshake.accepted,
                ssl=self._tls.context(),
                ssl_handshake_timeout=_HANDSHAKE_S_MAX,
                ssl_shutdown_timeout=_CLOSE_S_MAX,
            )
        except ssl.SSLError as error:
            self._failed(peer, _reason(error))
        except OSError as error:
            if isinstance(error, ConnectionAbortedError):
                self._failed(peer, f"the handshake took longer than {_HANDSHAKE_S_MAX:g} s")
            else:  # for example a port scan
                log.debug("Disconnected during the TLS handshake. peer=%s", peer)
        finally:
            self._host.connections.discard(handshake)

    def _failed(self, peer: Peer, reason: str) -> None:
        self._security.counts.failed_tls_handshakes += 1
        if times := self._log_limiter.times((peer.host, reason)):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            log.warning("TLS handshake failed: %s%s. peer=%s listener=%s", reason, again, peer, peer.listener)


class _Handshake:
    """A socket during its handshake, which counts as a connection."""

    def __init__(self, peer: Peer, accepted: socket.socket, host: ConnectionContext) -> None:
        self.peer = peer
        self.accepted = accepted
        self.last_active_ms = host.clock.monotonic_ms()
        self._host = host
        accepted.setblocking(False)
        host.connections.add(self)

    @property
    def is_waiting_for_answers(self) -> bool:
        return False

    def close(self, reason: str) -> None:
        if reason:
            self._host.log_closing(self.peer, reason)
        self.abort()

    def abort(self) -> None:
        self._host.connections.discard(self)
        with contextlib.suppress(OSError):
            self.accepted.shutdown(socket.SHUT_RDWR)  # the transport that has it closes it

    async def drain_and_close(self) -> None:
        self.abort()


class _TlsConnection(Connection):
    """Replaces its handshake among the connections."""

    def __init__(self, host: ConnectionContext, handshake: _Handshake, security: ListenerSecurity) -> None:
        super().__init__(host, handshake.peer.listener, security)
        self._handshake = handshake

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._host.connections.discard(self._handshake)
        super().connection_made(transport)
        assert self._security.tls is not None, "the listener speaks TLS"
        try:
            self.peer.principal = self._security.tls.principal_of(transport.get_extra_info("ssl_object"))
        except NoMatchingRule as error:
            self._security.counts.failed_tls_handshakes += 1
            self.close(str(error))
        else:
            self._security.counts.tls_handshakes += 1


_HINTS = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS: its security.protocol must be SSL or SASL_SSL",
    "HTTP_REQUEST": "it speaks HTTP",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust this broker's certificate (unknown authority)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it does not trust this broker's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it does not take this broker's certificate",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "it showed no certificate (ssl.client.auth=required)",
    "NO_SHARED_CIPHER": "it has no cipher suite in common with this broker",
    "UNSUPPORTED_PROTOCOL": "it has no TLS version in common with this broker (ssl.enabled.protocols)",
}


def _reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    return _HINTS.get(error.reason or "", (error.reason or str(error)).replace("_", " ").lower())
