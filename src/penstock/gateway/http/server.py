"""The web server of the admin port: accepts on a socket that is bound already, within limits, and stops gracefully.

A connection that has not sent a request in time is closed, so that nobody can hold all places by saying nothing.
"""

import asyncio
import logging
import socket
from typing import Final

from aiohttp import web

from penstock.gateway.http.app import LISTENERS

log = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 1024
FIRST_REQUEST_S_MAX: Final = 10.0
_KEEP_ALIVE_S: Final = 30.0
_DRAIN_S: Final = 2.0


class _Accepting:
    """Makes the protocol of each connection."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._silent: dict[web.RequestHandler, asyncio.TimerHandle] = {}

    def __call__(self) -> asyncio.Protocol:
        if len(self._server.connections) >= CONNECTIONS_MAX:
            return _Refusal()
        handler = self._server()
        loop = asyncio.get_running_loop()
        self._silent[handler] = loop.call_later(FIRST_REQUEST_S_MAX, self._give_up, handler)
        return handler

    def has_spoken(self, handler: web.RequestHandler) -> None:
        timer = self._silent.pop(handler, None)
        if timer is not None:
            timer.cancel()

    def _give_up(self, handler: web.RequestHandler) -> None:
        del self._silent[handler]
        handler.force_close()

    def forget_all(self) -> None:
        for timer in self._silent.values():
            timer.cancel()
        self._silent.clear()


class AdminServer:
    """One application on one socket."""

    def __init__(self, runner: web.AppRunner, listening: asyncio.Server, accepting: _Accepting) -> None:
        self._runner = runner
        self._listening = listening
        self._accepting = accepting

    @classmethod
    async def start(cls, app: web.Application, listening: socket.socket) -> "AdminServer":
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_DRAIN_S,
            keepalive_timeout=_KEEP_ALIVE_S,
        )
        await runner.setup()
        assert runner.server is not None
        accepting = _Accepting(runner.server)
        app[LISTENERS].append(accepting.has_spoken)
        server = await asyncio.get_running_loop().create_server(accepting, sock=listening)
        return cls(runner, server, accepting)

    async def stop(self) -> None:
        """Accept nobody, end streams and subscriptions, let short requests finish."""
        self._listening.close()
        self._accepting.forget_all()
        await self._runner.cleanup()


class _Refusal(asyncio.Protocol):
    """Closes a connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        log.warning("the admin port has %d connections; one more was closed", CONNECTIONS_MAX)
        transport.close()
