"""Connections that publish the same bytes repeatedly, one message in flight on each, from one thread."""

import select
import socket
import time
from collections.abc import Sequence
from typing import Final, Self

from penstock_bench.load_generator import Load
from penstock_bench.peers.tasks import Where
from penstock_bench.peers.wire import Acknowledgements, Refused, wire_of

_RECEIVE_BYTES: Final = 1 << 16
_STALL_S: Final = 60.0


class _Publisher:
    __slots__ = ("acknowledgements", "connection", "frames", "sent_at")

    def __init__(
        self, connection: socket.socket, frames: Sequence[bytes], acknowledgements: Acknowledgements
    ) -> None:
        self.connection = connection
        self.frames = frames
        self.acknowledgements = acknowledgements
        self.sent_at = 0.0

    def send(self, number: int) -> None:
        self.sent_at = time.perf_counter()
        self.connection.sendall(self.frames[number % len(self.frames)])

    def receive(self) -> int:
        received = self.connection.recv(_RECEIVE_BYTES)
        if not received:
            raise Refused("the server closed a connection under load")
        return self.acknowledgements.count(received)


class WireLoad:
    """A connection for each place. Its messages go round-robin to the partitions."""

    def __init__(self, places: Sequence[Where], message_bytes: int = 100) -> None:
        wire = wire_of(places[0].dialect)
        self._publishers: list[_Publisher] = []
        payload = b"x" * message_bytes
        began = time.perf_counter()
        try:
            for number, where in enumerate(places):
                frames = [
                    wire.publish_frame(where.stream, payload, partition=each, number=number)
                    for each in where.published_partitions
                ]
                connection = wire.open((where.host, where.port), number)
                acknowledgements = wire.acknowledgements(where.stream)
                self._publishers.append(_Publisher(connection, frames, acknowledgements))
        except BaseException:
            self.close()
            raise
        self.opened_in_s = time.perf_counter() - began

    def close(self) -> None:
        for publisher in self._publishers:
            publisher.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def all_at_once(self, duration_s: float) -> Load:
        """Publish on all connections, each with one message in flight."""
        by_fd = {each.connection.fileno(): each for each in self._publishers}
        latencies: list[float] = []
        clock = time.perf_counter
        with select.epoll() as poll:
            begun = now = clock()
            for number, (fd, publisher) in enumerate(by_fd.items()):
                poll.register(fd, select.EPOLLIN)
                publisher.send(number)
            end = begun + duration_s
            open_count = len(by_fd)
            while open_count:
                events = poll.poll(_STALL_S)
                if not events:
                    raise Refused(f"no answer for {_STALL_S:g} s")
                for fd, _ in events:
                    publisher = by_fd[fd]
                    if not publisher.receive():
                        continue
                    now = clock()
                    latencies.append(now - publisher.sent_at)
                    if now < end:
                        publisher.send(len(latencies))
                    else:
                        open_count -= 1  # nothing is in flight when this returns
        return Load(acknowledged=len(latencies), duration_s=now - begun, latencies_s=latencies)

    def in_turn(self, duration_s: float) -> Load:
        """Publish with one message in flight in total, round-robin over connections and partitions."""
        publishers = self._publishers
        latencies: list[float] = []
        begun = now = time.perf_counter()
        while now < begun + duration_s:
            publisher = publishers[len(latencies) % len(publishers)]
            publisher.send(len(latencies))
            while not publisher.receive():
                pass
            now = time.perf_counter()
            latencies.append(now - publisher.sent_at)
        return Load(acknowledged=len(latencies), duration_s=now - begun, latencies_s=latencies)
