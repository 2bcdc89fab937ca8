"""The socket of the admin port. The web server is loaded with the first connection.

Loading it costs 0.15 s and 16 MB. So a broker listens from the start, but loads the server, in a thread, with the first
connection.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Protocol

from penstock.config.broker import BrokerConfig
from penstock.config.property import ConfigError
from penstock.config.settings.admin import ADMIN_LISTENER, admin_address
from penstock.gateway.http.listener import chosen_listener, is_open

log = logging.getLogger(__name__)

BACKLOG = 1024  # connections beyond it retry after a second


class AdminPortUnusable(Exception):
    """The admin port cannot be opened with these settings; the message says what to do."""


class Served(Protocol):
    """A web server that took over a listening socket."""

    async def stop(self) -> None: ...


Serve = Callable[[socket.socket], Awaitable[Served]]
"""Loads the web server and lets it accept on the socket."""


class AdminPort:
    """Bound at once, loaded by its first connection, closed by `stop`."""

    def __init__(self, listening: socket.socket) -> None:
        self._socket = listening
        self._serve: Serve
        self._loading: asyncio.Task[None] | None = None
        self._served: Served | None = None

    @classmethod
    def bind(cls, config: BrokerConfig) -> "AdminPort | None":
        """None if it is disabled, or if its default address is in use. Raises `AdminPortUnusable`."""
        text = config[ADMIN_LISTENER]
        address = admin_address(text)
        if address is None:
            return None
        try:
            listener = chosen_listener(config)
        except ConfigError as error:
            raise AdminPortUnusable(str(error)) from None
        if is_open(config) and not listener.security_protocol.startswith("SASL_"):
            log.warning(
                "Admin port on %s is open to other hosts: every client may do what listener %s allows without a login",
                text,
                listener.name,
            )
        try:
            return cls(_bound(*address))
        except OSError as error:
            reason = error.strerror or error
            if ADMIN_LISTENER.name in config.static:
                raise AdminPortUnusable(
                    f"cannot serve the admin port on {text}: {reason}. Stop whatever uses the port, choose another "
                    f"with --set {ADMIN_LISTENER.name}=HOST:PORT, or none with --set {ADMIN_LISTENER.name}="
                ) from error
            log.warning(
                "Admin port disabled: %s is in use (%s); choose another with %s",
                text,
                reason,
                ADMIN_LISTENER.name,
            )
            return None

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()[:2]
        if host in ("0.0.0.0", "::"):  # noqa: S104  compared with, not bound
            host = "localhost"
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def start(self, serve: Serve) -> None:
        """Load the server with `serve` when the first connection arrives."""
        self._serve = serve
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._on_first_connection)

    def _on_first_connection(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket.fileno())
        self._loading = loop.create_task(self._load(), name="admin-port")

    async def _load(self) -> None:
        try:
            self._served = await self._serve(self._socket)
        except Exception:
            log.exception("Admin port failed to load")
            self._socket.close()

    async def stop(self) -> None:
        if self._loading is None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        else:
            self._loading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loading
        if self._served is not None:
            await self._served.stop()
        self._socket.close()


def _bound(host: str, port: int) -> socket.socket:
    family, _, _, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening
