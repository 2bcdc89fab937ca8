"""Other protocols on the Kafka port, by the first byte that a client sends.

A Kafka frame begins with its length, whose first byte is 0 for any frame below 16 MiB and at most 7 for one below
128 MiB, so { (0x7B) can only be the beginning of JSON.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.server.connections import ConnectionContext, Dialect, DialectConnection, Peer
from penstock.server.context import Services

if TYPE_CHECKING:
    from penstock.gateway.json_lines import JsonLines


def dialects(services: Services) -> Mapping[int, Dialect]:
    """The dialects of one broker, to be given to `Broker`."""
    return {ord("{"): _LazyJsonLines(services)}


class _LazyJsonLines:
    """Loads the dialect with its first client, so that it does not slow the start."""

    __slots__ = ("_dialect", "_services")

    def __init__(self, services: Services) -> None:
        self._services = services
        self._dialect: JsonLines | None = None

    def __call__(
        self, host: ConnectionContext, transport: asyncio.Transport, peer: Peer, received: bytes
    ) -> DialectConnection:
        if self._dialect is None:
            from penstock.gateway.json_lines import JsonLines  # noqa: PLC0415  see the class

            self._dialect = JsonLines(self._services)
        return self._dialect.connect(host, transport, peer, received)
