"""A pool of blocking connections to the brokers of one cluster, each lent to one user at a time."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

from penstock.client.blocking.connection import BlockingConnection

_IDLE_PER_BROKER_MAX: Final = 8

Open = Callable[[str, int], BlockingConnection]


class ConnectionPool:
    """Opens connections as they are needed and keeps a few idle ones.

    A connection that failed, or that still has responses pending, is closed instead of lent again.
    """

    def __init__(self, open_connection: Open) -> None:
        self._open = open_connection
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, int], list[BlockingConnection]] = {}

    @contextlib.contextmanager
    def lent(self, address: tuple[str, int]) -> Iterator[BlockingConnection]:
        connection = self._take(address)
        try:
            yield connection
        except OSError:
            connection.close()
            self.forget(address)
            raise
        finally:
            self._give_back(address, connection)

    def close(self) -> None:
        with self._lock:
            idle = [connection for kept in self._idle.values() for connection in kept]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _take(self, address: tuple[str, int]) -> BlockingConnection:
        with self._lock:
            idle = self._idle.get(address)
            if idle:
                return idle.pop()
        return self._open(*address)

    def _give_back(self, address: tuple[str, int], connection: BlockingConnection) -> None:
        if connection.is_open and connection.pending_count == 0:
            with self._lock:
                idle = self._idle.setdefault(address, [])
                if len(idle) < _IDLE_PER_BROKER_MAX:
                    idle.append(connection)
                    return
        connection.close()

    def forget(self, address: tuple[str, int]) -> None:
        """Close the idle connections to a broker: after one has failed, the others are likely to be dead too."""
        with self._lock:
            idle = self._idle.pop(address, [])
        for connection in idle:
            connection.close()
