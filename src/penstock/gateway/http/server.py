"""The web server of the admin port: accepts on a socket that is bound already, within limits, and stops gracefully.

`admission` limits how many connections there are. aiohttp closes a connection that has sent no whole request in time,
so silent clients cannot hold all connections. A client that does not read its response is disconnected here.
"""

import asyncio
import logging
import socket
from collections.abc import Iterable
from functools import partial
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from penstock.console.failures import is_clients_fault
from penstock.gateway.http.admission import Admission, Visitor
from penstock.gateway.http.port import BACKLOG
from penstock.runtime.clock import Clock

_of_aiohttp = logging.getLogger(f"{__name__}.aiohttp")

CONNECTIONS_MAX: Final = 1024
SILENCE_S_MAX: Final = 20.0
_DRAIN_S: Final = 2.0
_CHECK_S: Final = 15.0
_UNCHANGED_CHECKS_MAX: Final = 4  # then a connection whose write buffer has not shrunk is closed


class AdminServer:
    def __init__(self, runner: web.AppRunner, listening: asyncio.Server) -> None:
        self._runner = runner
        self._listening = listening
        self._watching = asyncio.get_running_loop().create_task(self._watch(), name="admin-port-readers")

    @classmethod
    async def start(
        cls,
        app: web.Application,
        listening: socket.socket,
        *,
        clock: Clock,
        connections_per_ip_max: int = CONNECTIONS_MAX,
    ) -> "AdminServer":
        admission = Admission(clock, total_max=CONNECTIONS_MAX, per_address_max=connections_per_ip_max)
        app.middlewares.insert(0, _closing_reserved(admission))
        runner = web.AppRunner(
            app,
            access_log=None,
            logger=_of_aiohttp,
            handle_signals=False,
            shutdown_timeout=_DRAIN_S,
            keepalive_timeout=SILENCE_S_MAX,
            lingering_time=_DRAIN_S,
            auto_decompress=False,  # a body that was refused is still read to its end, and must not be inflated
        )
        await runner.setup()
        server = runner.server
        assert server is not None
        visitor = partial(Visitor, admission, server)
        loop = asyncio.get_running_loop()
        return cls(runner, await loop.create_server(visitor, sock=listening, backlog=BACKLOG))

    async def stop(self) -> None:
        """Stop accepting, end streams and subscriptions, let short requests finish."""
        self._listening.close()
        self._watching.cancel()
        await self._runner.cleanup()

    def transports(self) -> list[asyncio.Transport]:
        server = self._runner.server
        found = [] if server is None else [each.transport for each in server.connections]
        return [each for each in found if each is not None]

    async def _watch(self) -> None:
        readers = StalledReaders()
        while True:
            await asyncio.sleep(_CHECK_S)
            for transport in readers.find(self.transports()):
                transport.abort()


class StalledReaders:
    """Finds connections whose clients do not read: their write buffers keep the same size over several checks."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[asyncio.WriteTransport, tuple[int, int]] = {}

    def find(self, transports: Iterable[asyncio.WriteTransport]) -> list[asyncio.WriteTransport]:
        waiting: dict[asyncio.WriteTransport, tuple[int, int]] = {}
        for each in transports:
            size_bytes = each.get_write_buffer_size()
            if size_bytes:
                before, checks = self._waiting.get(each, (size_bytes, 0))
                waiting[each] = (size_bytes, checks + 1 if size_bytes == before else 1)
        self._waiting = waiting
        return [each for each, (_, checks) in waiting.items() if checks > _UNCHANGED_CHECKS_MAX]


def _closing_reserved(admission: Admission) -> Middleware:
    @web.middleware
    async def closing(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if admission.has_reserved(request.protocol):
            response.force_close()  # only reserved paths are served on it
        return response

    return closing


def _is_not_clients_fault(record: logging.LogRecord) -> bool:
    """Log no traceback for a client that hangs up or sends invalid HTTP: anybody could fill the log."""
    return not is_clients_fault(record.exc_info[1] if record.exc_info else None)


_of_aiohttp.addFilter(_is_not_clients_fault)
