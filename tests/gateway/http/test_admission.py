"""Which connections of the admin port are served: decisions with recording transports."""

import asyncio
from typing import Any

import pytest

from penstock.gateway.http import admission as module
from penstock.gateway.http.admission import Admission, Visitor
from penstock.runtime.clock import ManualClock


class RecordingTransport(asyncio.Transport):
    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1)})
        self.written = b""
        self.is_ended = False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.is_ended = True

    def abort(self) -> None:
        self.is_ended = True


class Web(asyncio.Protocol):
    """In place of aiohttp: records its input."""

    received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data


def coming(admission: Admission, address: str) -> tuple[Visitor, RecordingTransport]:
    visitor, wire = Visitor(admission, Web), RecordingTransport(address)
    visitor.connection_made(wire)
    return visitor, wire


async def test_a_connection_that_ends_makes_room_for_another_of_its_address() -> None:
    admission = Admission(ManualClock(), total_max=3, per_address_max=2)
    first, _ = coming(admission, "a")
    coming(admission, "a")
    assert coming(admission, "a")[0].handler is None
    assert coming(admission, "b")[0].handler is not None
    assert coming(admission, "c")[0].handler is None
    first.connection_lost(None)
    assert coming(admission, "a")[0].handler is not None


async def test_reserved_connections_serve_only_health_requests_however_they_arrive() -> None:
    admission = Admission(ManualClock(), total_max=0, per_address_max=1)
    visitor, wire = coming(admission, "a")
    for piece in (b"GET /hea", b"lthz HTTP/1.1\r", b"\nHost: a\r\n", b"\r\n"):
        visitor.data_received(piece)
    assert isinstance(visitor.handler, Web)
    assert visitor.handler.received == b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    assert admission.has_reserved(visitor.handler)
    for line in (b"HEAD /readyz HTTP/1.1\r\n", b"GET /metrics?name=a HTTP/1.1\r\n"):
        visitor, wire = coming(admission, "a")
        visitor.data_received(line)
        assert (visitor.handler is None, wire.written) == (False, b"")
    for line in (b"GET /topics HTTP/1.1\r\n", b"POST /healthz HTTP/1.1\r\n", b"\r\n", b"x" * 5000):
        visitor, wire = coming(admission, "a")
        visitor.data_received(line)
        assert (visitor.handler, wire.is_ended) == (None, True)
        assert wire.written.startswith(b"HTTP/1.1 503 ")


async def test_a_full_reserve_closes_the_oldest_connection_without_a_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_RESERVE_MAX", 3)
    admission = Admission(ManualClock(), total_max=0, per_address_max=1)
    scrape, scraped = coming(admission, "a")
    scrape.data_received(b"GET /metrics HTTP/1.1\r\n")
    wires = [coming(admission, "a")[1] for _ in range(4)]
    assert [each.is_ended for each in wires] == [True, True, False, False]
    assert not scraped.is_ended
    scrape.connection_lost(None)
    assert not coming(admission, "a")[1].is_ended
    assert not wires[2].is_ended
