"""The memory of a JSON-lines connection: unanswered requests, whole and unfinished."""

import asyncio
from typing import Any, cast

from penstock.gateway.json_lines import JsonLinesConnection
from penstock.runtime.clock import ManualClock
from penstock.server.connections import ConnectionContext, Limits, Peer
from penstock.server.memory import MemoryBudget
from penstock.server.request_metrics import RequestCounts

MEGABYTE = 1024 * 1024


class StalledTransport(asyncio.Transport):
    """A client that reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.is_reading_on = True
        self.is_aborted = False

    def pause_reading(self) -> None:
        self.is_reading_on = False

    def is_closing(self) -> bool:
        return self.is_aborted

    def write(self, data: Any) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        pass


def host_of(limit_bytes: int) -> ConnectionContext:
    limits = Limits(
        frame_bytes_max=1,
        in_flight_max=1,
        in_flight_bytes_max=1,
        connections_max=9,
        connections_per_host_max=9,
    )
    return ConnectionContext(
        cast("Any", None),
        limits,
        ManualClock(),
        counts=RequestCounts(),
        memory=MemoryBudget(limit_bytes),
    )


def connected(host: ConnectionContext, wire: StalledTransport) -> JsonLinesConnection:
    connection = JsonLinesConnection(cast("Any", None), host, wire, Peer("PLAINTEXT", "127.0.0.1", 1), b" ")
    host.connections.add(connection)
    connection.pause_writing()
    return connection


def test_a_client_that_reads_no_answers_is_no_longer_read_from() -> None:
    async def scenario() -> None:
        host, wire = host_of(1 << 30), StalledTransport()
        connection = connected(host, wire)
        sent = 0
        while wire.is_reading_on:
            connection.data_received(b'{"type":"' + b"x" * 700_000 + b'"}')
            sent += 1
        assert sent == 2
        assert host.memory.receiving_bytes > MEGABYTE
        connection.connection_lost(None)
        assert host.memory.receiving_bytes == 0

    asyncio.run(scenario())


def test_unfinished_requests_are_evicted_for_others() -> None:
    async def scenario() -> None:
        host = host_of(4 * MEGABYTE)
        wires = [StalledTransport() for _ in range(3)]
        for wire in wires:
            connected(host, wire).data_received(b'{"type":"' + b"x" * 2 * MEGABYTE)
        assert [wire.is_aborted for wire in wires] == [True, True, False]
        assert host.memory.receiving_bytes < 3 * MEGABYTE

    asyncio.run(scenario())
