"""NATS's protocol: PUB with a reply subject, acknowledged by JetStream with a MSG on that subject.

The server's own PINGs are not answered: it closes such a connection only after minutes.
"""

import json
import socket

from penstock_bench.peers.wire import Refused, connect


class NatsWire:
    def open(self, address: tuple[str, int], number: int) -> socket.socket:
        connection = connect(address)
        options = {"verbose": False, "pedantic": False, "lang": "bench", "version": "1", "protocol": 1}
        hello = f"CONNECT {json.dumps(options)}\r\nSUB {_inbox(number)} 1\r\nPING\r\n"
        connection.sendall(hello.encode())
        received = b""
        while b"PONG\r\n" not in received:  # INFO comes first
            piece = connection.recv(4096)
            if not piece or b"-ERR" in received:
                raise Refused(received.decode(errors="replace"))
            received += piece
        return connection

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        return f"PUB {stream} {_inbox(number)} {len(payload)}\r\n".encode() + payload + b"\r\n"

    def acknowledgements(self, stream: str) -> "_Acknowledgements":  # noqa: ARG002 - all look alike
        return _Acknowledgements()


def _inbox(number: int) -> str:
    """Return the subject of the acknowledgements of one connection."""
    return f"_INBOX.bench.{number}"


class _Acknowledgements:
    """Each has `MSG` once, which may be split between two chunks."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def count(self, received: bytes) -> int:
        if b'"error"' in received or b"-ERR" in received:
            raise Refused(received.decode(errors="replace").strip())
        unread = self._tail + received
        self._tail = unread[-3:]
        return unread.count(b"MSG ")
