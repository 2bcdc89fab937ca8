"""The web server of the admin port: accepts on a socket that is bound already, within limits, and stops gracefully."""

import asyncio
import logging
import socket
from typing import Final

from aiohttp import web

log = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 1024
_DRAIN_S: Final = 2.0


class AdminServer:
    """One application on one socket."""

    def __init__(self, runner: web.AppRunner, listening: asyncio.Server) -> None:
        self._runner = runner
        self._listening = listening

    @classmethod
    async def start(cls, app: web.Application, listening: socket.socket) -> "AdminServer":
        runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=_DRAIN_S)
        await runner.setup()
        server = runner.server
        assert server is not None

        def connected() -> asyncio.Protocol:
            if len(server.connections) >= CONNECTIONS_MAX:
                return _Refusal()
            return server()

        accepting = await asyncio.get_running_loop().create_server(connected, sock=listening)
        return cls(runner, accepting)

    async def stop(self) -> None:
        """Accept nobody, end streams and subscriptions, let short requests finish."""
        self._listening.close()
        await self._runner.cleanup()


class _Refusal(asyncio.Protocol):
    """Closes a connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        log.warning("the admin port has %d connections; one more was closed", CONNECTIONS_MAX)
        transport.close()
