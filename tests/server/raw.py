"""Frames by hand, for tests that send what no client would."""

import asyncio
import socket
import struct
from typing import Any

from penstock.protocol import apis
from penstock.protocol.headers import RequestHeader, encode_request_header
from tests.server.live import Live, api_of


def frame_of(request: Any, version: int | None = None, *, correlation_id: int = 0) -> bytes:
    """A whole request with its length in front."""
    spec = api_of(type(request))
    version = spec.versions[-1] if version is None else version
    out = bytearray(4)
    encode_request_header(
        out,
        RequestHeader(api_key=spec.key, api_version=version, correlation_id=correlation_id, client_id="raw"),
    )
    apis.codec(spec.key).encode_request_into(out, request, version)
    struct.pack_into(">i", out, 0, len(out) - 4)
    return bytes(out)


async def connected(live: Live) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(live.host, live.port)


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    (size,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(size)


def silent_socket(live: Live) -> socket.socket:
    """A client that does not read: its window is as small as the system allows."""
    connection = socket.create_connection((live.host, live.port))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    return connection
