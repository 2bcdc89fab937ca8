"""The cut links and slow nodes of an embedded cluster."""

import asyncio
import threading
from collections.abc import Callable

_CONNECT_S_MAX = 10.0


class Links:
    """Nodes are known by their ports. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cuts: set[frozenset[int]] = set()
        self._delays_ms: dict[int, float] = {}
        self._watchers: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}

    def cut(self, one: int, other: int) -> None:
        self._cuts.add(frozenset((one, other)))
        self._notify()

    def slow_down(self, port: int, delay_ms: float) -> None:
        self._delays_ms[port] = delay_ms
        self._notify()

    def heal(self) -> None:
        self._cuts.clear()
        self._delays_ms.clear()
        self._notify()

    @property
    def are_healthy(self) -> bool:
        """Whether no link is cut and no node is slow."""
        return not self._cuts and not self._delays_ms

    def is_cut(self, one: int, other: int) -> bool:
        return frozenset((one, other)) in self._cuts

    def delay_s(self, port: int) -> float:
        return self._delays_ms.get(port, 0.0) / 1000

    def watch(self, key: object, changed: Callable[[], None]) -> None:
        """Have `changed` called on this loop whenever something is cut, slowed down or healed."""
        with self._lock:
            self._watchers[key] = (asyncio.get_running_loop(), changed)

    def unwatch(self, key: object) -> None:
        with self._lock:
            self._watchers.pop(key, None)

    def _notify(self) -> None:
        with self._lock:
            watchers = list(self._watchers.values())
        for loop, changed in watchers:
            if not loop.is_closed():
                loop.call_soon_threadsafe(changed)

    async def passable(self, one: int, other: int) -> None:
        """Wait until the link is not cut. Raises `TimeoutError`, as connecting does where packets are lost."""
        if not self.is_cut(one, other):
            return
        changed, key = asyncio.Event(), object()
        self.watch(key, changed.set)
        try:
            async with asyncio.timeout(_CONNECT_S_MAX):
                while self.is_cut(one, other):
                    changed.clear()
                    await changed.wait()
        finally:
            self.unwatch(key)
