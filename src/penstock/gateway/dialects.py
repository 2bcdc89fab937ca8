"""Other protocols on the Kafka port, by the first byte that a client sends.

A Kafka frame begins with its length, whose first byte is 0 for any frame below 16 MiB and at most 7 for one below
128 MiB, so { (0x7B) can only be the beginning of JSON.
"""

import asyncio
from collections.abc import Mapping

from penstock.server.connections import ConnectionContext, Dialect, DialectConnection, Peer
from penstock.server.context import Services


def dialects(services: Services) -> Mapping[int, Dialect]:

    def json_lines(
        host: ConnectionContext, transport: asyncio.Transport, peer: Peer, received: bytes
    ) -> DialectConnection:
        from penstock.gateway.json_lines import JsonLinesConnection  # noqa: PLC0415  it would slow the start

        return JsonLinesConnection(services, host, transport, peer, received)

    return {ord("{"): json_lines}
