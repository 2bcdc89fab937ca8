"""Many connections and many requests in flight from one thread, at little cost for the generator.

Each connection repeats a few frames of equal length. Their bytes are a cycle, so the generator only counts the bytes
still to be sent. The counter of a connection counts responses in the received bytes: nothing is built or decoded.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol, Self

import msgspec

from penstock_bench.frames import AnswerCounter, UnexpectedAnswer
from penstock_bench.raw_client import connect

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


class Counter(Protocol):
    """Counts the acknowledgements in the bytes of one connection."""

    def count(self, received: memoryview) -> int:
        """Return how many acknowledgements these bytes complete. Raises `UnexpectedAnswer` at any other answer."""


class Pipe:
    """One connection: the frames that it repeats, and the bytes of them that are still to be sent."""

    __slots__ = (
        "_cycle",
        "_cycle_bytes",
        "_sent_bytes",
        "connection",
        "counter",
        "frame_bytes",
        "owed_bytes",
        "sent_at",
    )

    def __init__(
        self, connection: socket.socket, frames: Sequence[bytes], counter: Counter, window: int = 1
    ) -> None:
        self.connection = connection
        self.counter = counter
        self.frame_bytes = len(frames[0])
        self._cycle_bytes = self.frame_bytes * len(frames)
        self._cycle = memoryview(b"".join(frames) * (window + 1))
        self.owed_bytes = 0
        self._sent_bytes = 0
        self.sent_at = 0.0

    def send(self) -> bool:
        """Send as many of the owed bytes as the socket takes, and return whether some are left."""
        start = self._sent_bytes % self._cycle_bytes
        try:
            count = self.connection.send(self._cycle[start : start + self.owed_bytes])
        except BlockingIOError:
            return True
        self._sent_bytes += count
        self.owed_bytes -= count
        return self.owed_bytes > 0


class LoadGenerator:
    """`window` requests are in flight on each connection."""

    def __init__(self, pipes: Sequence[Pipe], window: int = 1) -> None:
        self._window = window
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._pipes = {each.connection.fileno(): each for each in pipes}

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, duration_s: float, until: Callable[[int], bool] = lambda _: False) -> Load:
        """Load the server for that long, or until `until` returns True for the number of acknowledged requests.

        Requests beyond one on a connection are still in flight when this returns; they are not counted.
        """
        is_lone = self._window == 1
        latencies: list[float] = []
        acknowledged, answering = 0, len(self._pipes)
        with select.epoll() as poll:
            begun = now = time.perf_counter()
            end = begun + duration_s
            for fd, pipe in self._pipes.items():
                pipe.connection.setblocking(False)
                pipe.owed_bytes = pipe.frame_bytes * self._window
                poll.register(fd, select.EPOLLIN)
                pipe.sent_at = time.perf_counter()
                _send(poll, fd, pipe)
            while (answering if is_lone else now < end) and not until(acknowledged):
                events = poll.poll(_STALL_S)
                if not events:
                    raise UnexpectedAnswer(f"no answer for {_STALL_S:g} s")
                for fd, event in events:
                    pipe = self._pipes[fd]
                    responses = self._receive(pipe) if event & select.EPOLLIN else 0
                    if is_lone and responses:
                        now = time.perf_counter()
                        latencies.append(now - pipe.sent_at)
                        pipe.sent_at = now
                    acknowledged += responses
                    if now < end:
                        pipe.owed_bytes += responses * pipe.frame_bytes
                    else:
                        answering -= responses
                    if pipe.owed_bytes:
                        _send(poll, fd, pipe)
                now = time.perf_counter()
        return Load(acknowledged=acknowledged, duration_s=now - begun, latencies_s=latencies)

    def run_in_turn(self, duration_s: float) -> Load:
        """Load the server with one request in flight in total, round-robin over connections and their frames."""
        pipes = list(self._pipes.values())
        latencies: list[float] = []
        for pipe in pipes:
            pipe.connection.settimeout(_STALL_S)
        begun = now = time.perf_counter()
        while now < begun + duration_s:
            pipe = pipes[len(latencies) % len(pipes)]
            pipe.sent_at = time.perf_counter()
            pipe.owed_bytes = pipe.frame_bytes
            while pipe.send():
                pass
            while not self._receive(pipe):
                pass
            now = time.perf_counter()
            latencies.append(now - pipe.sent_at)
        return Load(acknowledged=len(latencies), duration_s=now - begun, latencies_s=latencies)

    def _receive(self, pipe: Pipe) -> int:
        """Receive, and return how many responses are complete."""
        count = pipe.connection.recv_into(self._buffer)
        if not count:
            raise UnexpectedAnswer("the server closed a connection under load")
        return pipe.counter.count(self._buffer[:count])


def _send(poll: select.epoll, fd: int, pipe: Pipe) -> None:
    is_blocked = pipe.send()
    poll.modify(fd, select.EPOLLIN | select.EPOLLOUT if is_blocked else select.EPOLLIN)


def produce_load(
    address: tuple[str, int], topic: str, frames: Sequence[Sequence[bytes]], window: int = 1
) -> LoadGenerator:
    """Open a connection for each sequence of produce frames."""
    pipes = [Pipe(connect(address), each, AnswerCounter(topic), window) for each in frames]
    return LoadGenerator(pipes, window)
