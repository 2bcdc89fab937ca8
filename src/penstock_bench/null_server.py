"""A server that only answers: the upper bound of the load generator on this machine.

It reads frames by their length and answers each with fixed bytes, on the event loop that the broker uses. A broker
cannot be faster with the same generator; the difference is the work that the broker does.
Run as `python -m penstock_bench.null_server`, with the answer's size as the argument.
"""

import asyncio
import struct
import sys
from typing import cast

_SIZE = struct.Struct(">i")


class _Answering(asyncio.BufferedProtocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._buffer = bytearray(1 << 20)
        self._filled = 0
        self._skip = 0  # bytes of a frame that are still to come
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by shape, not by inheritance

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - one size for all
        return memoryview(self._buffer)[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        end = self._filled + nbytes
        position = 0
        answers = 0
        while True:
            if self._skip:
                step = min(self._skip, end - position)
                position += step
                self._skip -= step
                if self._skip:
                    break
                answers += 1
            if end - position < 4:
                break
            self._skip = _SIZE.unpack_from(self._buffer, position)[0]
            position += 4
        rest = self._buffer[position:end]
        self._buffer[: len(rest)] = rest
        self._filled = len(rest)
        if answers and self._transport is not None:
            self._transport.write(self._answer * answers)


async def _serve(answer: bytes) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Answering(answer), "127.0.0.1", 0)
    print(f"ready on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    size = int(sys.argv[1])
    answer = _SIZE.pack(size - 4) + bytes(size - 4)
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(answer))
    else:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(answer))


if __name__ == "__main__":
    main()
