"""Many connections and many requests in flight from one thread, cheap enough not to be what is measured.

Each connection sends the same frame over and over, or a few of equal length in turn. Their bytes are a cycle, so what
is owed to the socket is a number of bytes, and answers are counted by their length: no request is built and no answer
decoded. Error codes are checked by slicing whole columns out of what was received.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final, Self

import msgspec

from penstock.cli.bench.frames import AnswerShape
from penstock.cli.bench.raw_client import UnexpectedAnswer, connect

_RECEIVE_BYTES: Final = 1 << 18
_STALL_S: Final = 60.0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What was acknowledged within the time, and, with one request in flight, how long each took in seconds."""

    acknowledged: int
    duration_s: float
    latencies_s: list[float]

    @property
    def rate(self) -> float:
        return self.acknowledged / self.duration_s


class _Pipe:
    """One connection: how many answer bytes came, how many frame bytes are still to be sent."""

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
        """Send what is owed, as far as the socket takes it; says whether some is left."""
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
        """Load the broker for that long, or until `until` says of the number acknowledged that it is enough.

        Requests are still in flight when this returns: what was sent but not answered is not counted.
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
        """Take in what came; gives how many answers it completed."""
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
