"""A server that only answers: the upper bound of the load generator on this machine.

It counts frames by their length and answers each with fixed bytes, on the event loop that the broker uses. A broker
cannot be faster with the same generator; the difference is the work that the broker does.
Run as `python -m penstock_bench.null_server`, with the answer's size as the argument.
"""

import asyncio
import struct
import sys
from typing import cast

import uvloop

_SIZE = struct.Struct(">i")


class _Answering(asyncio.BufferedProtocol):
    """All frames of a connection have the length of the first."""

    def __init__(self, response: bytes) -> None:
        self._answer = response
        self._buffer = bytearray(1 << 20)
        self._frame_bytes = 0
        self._received_bytes = 0  # of the frame that is not complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by shape, not by inheritance

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002 - one size for all
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._frame_bytes = self._frame_bytes or 4 + _SIZE.unpack_from(self._buffer)[0]
        responses, self._received_bytes = divmod(self._received_bytes + nbytes, self._frame_bytes)
        if responses:
            self._transport.write(self._answer * responses)


async def _serve(response: bytes) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Answering(response), "127.0.0.1", 0)
    print(f"ready on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    size = int(sys.argv[1])
    response = _SIZE.pack(size - 4) + bytes(size - 4)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(response))


if __name__ == "__main__":
    main()
