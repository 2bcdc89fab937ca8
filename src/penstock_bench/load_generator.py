"""Many connections and many requests in flight from one thread, at little cost for the generator.

Each connection repeats the same frame, or a few of equal length. Their bytes are a cycle, so the generator only counts
the bytes still to be sent, and counts responses by their length: it builds no request and decodes no response. It
checks error codes by slicing whole columns out of the received bytes.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

import msgspec

from penstock_bench.frames import AnswerShape
from penstock_bench.raw_client import UnexpectedAnswer, connect

_RECEIVE_BYTES: Final = 1 << 18
_STALL_S: Final = 60.0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The number of acknowledged requests; with one request in flight, also the seconds that each took."""

    acknowledged: int
    duration_s: float
    latencies_s: list[float]

    @property
    def rate(self) -> float:
        return self.acknowledged / self.duration_s


class _Pipe:
    """One connection: the response bytes received, and the frame bytes still to be sent."""

    __slots__ = (
        "answered_bytes",
        "connection",
        "cycle",
        "cycle_bytes",
        "frame_bytes",
        "owed_bytes",
        "sent_at",
        "sent_bytes",
    )

    def __init__(self, connection: socket.socket, frames: bytes, window: int) -> None:
        self.connection = connection
        self.frame_bytes = 4 + int.from_bytes(frames[:4], "big")
        self.cycle_bytes = len(frames)
        self.cycle = memoryview(frames * (window + 1))
        self.owed_bytes = self.frame_bytes * window
        self.sent_bytes = 0
        self.answered_bytes = 0
        self.sent_at = 0.0

    def send(self) -> bool:
        """Send as many of the owed bytes as the socket takes, and return whether some are left."""
        start = self.sent_bytes % self.cycle_bytes
        try:
            count = self.connection.send(self.cycle[start : start + self.owed_bytes])
        except BlockingIOError:
            return True
        self.sent_bytes += count
        self.owed_bytes -= count
        return self.owed_bytes > 0


class LoadGenerator:
    """`frames[i]` is sent on connection i, `window` requests in flight: one frame, or several of equal length."""

    def __init__(
        self, address: tuple[str, int], frames: Sequence[bytes], shape: AnswerShape, window: int
    ) -> None:
        self._shape = shape
        self._is_lone = window == 1
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._pipes: dict[int, _Pipe] = {}
        self._poll = select.epoll()
        for frame in frames:
            connection = connect(address)
            connection.setblocking(False)
            self._pipes[connection.fileno()] = _Pipe(connection, frame, window)

    def close(self) -> None:
        self._poll.close()
        for pipe in self._pipes.values():
            pipe.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, *, duration_s: float, until: Callable[[int], bool] | None = None) -> Load:
        """Load the broker for that long, or until `until` returns True for the number of acknowledged requests.

        Requests are still in flight when this returns; they are not counted.
        """
        for fd, pipe in self._pipes.items():
            self._poll.register(fd, select.EPOLLIN)
            pipe.sent_at = time.perf_counter()
            self._send(fd, pipe)
        acknowledged = 0
        latencies: list[float] = []
        begun = now = time.perf_counter()
        end = begun + duration_s
        while now < end and not (until is not None and until(acknowledged)):
            events = self._poll.poll(_STALL_S)
            if not events:
                raise UnexpectedAnswer(f"no answer for {_STALL_S:g} s")
            for fd, event in events:
                pipe = self._pipes[fd]
                if event & select.EPOLLIN:
                    answers = self._receive(pipe)
                    if self._is_lone and answers:
                        now = time.perf_counter()
                        latencies.append(now - pipe.sent_at)
                        pipe.sent_at = now
                    acknowledged += answers
                    pipe.owed_bytes += answers * pipe.frame_bytes
                if pipe.owed_bytes:
                    self._send(fd, pipe)
            now = time.perf_counter()
        return Load(acknowledged=acknowledged, duration_s=now - begun, latencies_s=latencies)

    def _receive(self, pipe: _Pipe) -> int:
        """Receive, and return how many responses are complete."""
        count = pipe.connection.recv_into(self._buffer)
        if not count:
            raise UnexpectedAnswer("the broker closed a connection under load")
        size = self._shape.size_bytes
        skip = pipe.answered_bytes % size
        if not self._shape.is_good(self._buffer[:count], skip):
            raise UnexpectedAnswer("the broker refused a produce request under load")
        pipe.answered_bytes += count
        return (skip + count) // size

    def _send(self, fd: int, pipe: _Pipe) -> None:
        is_blocked = pipe.send()
        self._poll.modify(fd, select.EPOLLIN | select.EPOLLOUT if is_blocked else select.EPOLLIN)
