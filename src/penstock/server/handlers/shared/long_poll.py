"""Long polls: a request waits until a watched partition changes, its timeout ends or its client disconnects.

A request starts to watch, reads once more, and only then waits: the read finds earlier changes, and later ones end the
wait.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from penstock.server.connections import Peer


class Watched(Protocol):
    def unwatch(self, changed: "asyncio.Future[None]", /) -> None: ...


@contextlib.contextmanager
def watching(
    peer: Peer, deadline: float, watch: "Callable[[asyncio.Future[None]], Sequence[Watched]]"
) -> "Iterator[asyncio.Future[None]]":
    """Return the future that `change` waits for; `watch` registers it and returns the objects to unwatch.

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


async def change(changed: "asyncio.Future[None]") -> None:
    """Wait until the future is resolved or cancelled; only a cancelled caller is an error."""
    await asyncio.wait((changed,))
