"""Redis's protocol (RESP2): XADD, answered with the new entry's id as a bulk string, like `$15`, `1700000000000-0`."""

import socket

from penstock_bench.peers.wire import Refused, connect


class RedisWire:
    def open(self, address: tuple[str, int], number: int) -> socket.socket:  # noqa: ARG002 - all alike
        return connect(address)

    def publish_frame(self, stream: str, payload: bytes, *, partition: int, number: int) -> bytes:  # noqa: ARG002
        words = (b"XADD", stream.encode(), b"*", b"v", payload)
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    def acknowledgements(self, stream: str) -> "_Acknowledgements":  # noqa: ARG002 - all look alike
        return _Acknowledgements()


class _Acknowledgements:
    """An id holds digits and a dash, so that each `$` is one answer."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = b"\n"

    def count(self, received: bytes) -> int:
        if b"\n-" in self._last + received:  # a line that begins with a dash is an error
            raise Refused(received.decode(errors="replace").strip())
        self._last = received[-1:] or self._last
        return received.count(b"$")
