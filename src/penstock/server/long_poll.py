"""A request that waits for news: until something that it watches changes, its time is up or its client is gone.

Whoever waits begins to watch, reads once more, and only then waits: what came before the watch is found by the reading,
what comes after it ends the wait.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from penstock.server.connection_host import Peer


class Watched(Protocol):
    def unwatch(self, changed: "asyncio.Future[None]", /) -> None: ...


@contextlib.contextmanager
def watching(
    peer: Peer, deadline: float, watch: "Callable[[asyncio.Future[None]], Sequence[Watched]]"
) -> "Iterator[asyncio.Future[None]]":
    """Give what `news` waits for; `watch` has every change resolve it, and gives those to unwatch in the end.

    `deadline` is on the loop's time line.
    """
    loop = asyncio.get_running_loop()
    changed: asyncio.Future[None] = loop.create_future()
    timer = loop.call_at(deadline, changed.cancel)
    peer.long_polls.add(changed)
    watched = watch(changed)
    try:
        yield changed
    finally:
        timer.cancel()
        peer.long_polls.discard(changed)
        for each in watched:
            each.unwatch(changed)


async def news(changed: "asyncio.Future[None]") -> None:
    """Wait until it is resolved, or cancelled, which is no error: only the end of who waits is."""
    await asyncio.wait((changed,))
