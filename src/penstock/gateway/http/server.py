"""The web server of the admin port: accepts on a socket that is bound already, within limits, and stops gracefully.

aiohttp closes a connection that has sent no whole request in time, so nobody can hold all places by saying nothing.
"""

import asyncio
import logging
import socket
from typing import Final

from aiohttp import web

log = logging.getLogger(__name__)

CONNECTIONS_MAX: Final = 1024
SILENCE_S_MAX: Final = 20.0
_DRAIN_S: Final = 2.0


class AdminServer:
    """One application on one socket."""

    def __init__(self, runner: web.AppRunner, listening: asyncio.Server) -> None:
        self._runner = runner
        self._listening = listening

    @classmethod
    async def start(cls, app: web.Application, listening: socket.socket) -> "AdminServer":
        runner = web.AppRunner(
            app,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_DRAIN_S,
            keepalive_timeout=SILENCE_S_MAX,
        )
        await runner.setup()
        server = runner.server
        assert server is not None

        def accepted() -> asyncio.Protocol:
            return _Refusal() if len(server.connections) >= CONNECTIONS_MAX else server()

        return cls(runner, await asyncio.get_running_loop().create_server(accepted, sock=listening))

    async def stop(self) -> None:
        """Accept nobody, end streams and subscriptions, let short requests finish."""
        self._listening.close()
        await self._runner.cleanup()


class _Refusal(asyncio.Protocol):
    """Closes a connection that is one too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        log.warning("the admin port has %d connections; one more was closed", CONNECTIONS_MAX)
        transport.close()
