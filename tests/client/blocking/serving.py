"""A broker for tests of the blocking client: a thread that answers each request as the test defines."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock.protocol.apis import codec
from penstock.protocol.headers import RequestHeader, decode_request_header, encode_response_header
from penstock.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

# Given a request's header and body; an answer is a message, raw bytes for the wire, or None to hang up.
Answer = Callable[[RequestHeader, Any], Any]

ALL_VERSIONS = ApiVersionsResponse(
    api_keys=[ApiVersion(api_key=key, min_version=0, max_version=20) for key in range(40)]
)


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, int]]:
    """The address of a server on loopback; every connection is served by a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stopped = threading.Event()

        def accept() -> None:
            while not stopped.is_set():
                with contextlib.suppress(OSError):
                    channel, _ = listener.accept()
                    threading.Thread(target=_serve, args=(channel, answer), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            stopped.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def frame(header: RequestHeader, message: Any) -> bytes:
    out = bytearray()
    encode_response_header(out, header.api_key, header.api_version, header.correlation_id)
    codec(header.api_key).encode_response_into(out, message, header.api_version)
    return struct.pack(">i", len(out)) + out


def _serve(channel: socket.socket, answer: Answer) -> None:
    with channel, channel.makefile("rb") as incoming, contextlib.suppress(OSError):
        while size := incoming.read(4):
            request = incoming.read(struct.unpack(">i", size)[0])
            header, position = decode_request_header(request)
            body = codec(header.api_key).decode_request(request, header.api_version, position)
            response = answer(header, body)
            if response is None:
                return
            channel.sendall(response if isinstance(response, bytes) else frame(header, response))
