"""Limits of long-lived requests, in total and for each user."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Generic, TypeVar

from aiohttp import web

from penstock.client.aio import Client
from penstock.console.broker_errors import TOO_MANY, UNAVAILABLE
from penstock.gateway.http.app import CLIENTS
from penstock.gateway.http.problems import Problem

T = TypeVar("T")


@contextlib.asynccontextmanager
async def counted_client(request: web.Request, opened: "Opened[T]", item: T) -> AsyncIterator[Client]:
    """The client of the user of a long-lived request, which is counted. Raises `Problem`."""
    clients, authorization = request.app[CLIENTS], request.headers.get("Authorization")
    with opened.counted(clients.who(authorization, request.remote), item):
        async with clients.lent(authorization, request.remote) as client:
            yield client


class Opened(Generic[T]):
    def __init__(self, what: str, *, in_all_max: int, of_one_max: int) -> None:
        """`what` is their name in the plural."""
        self._what = what
        self._in_all_max = in_all_max
        self._of_one_max = of_one_max
        self._items: set[T] = set()
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[T]:
        return iter(set(self._items))

    @contextlib.contextmanager
    def counted(self, who: str, item: T) -> Iterator[None]:
        """Raises `Problem` when there are too many."""
        if len(self._items) >= self._in_all_max:
            raise Problem(
                UNAVAILABLE, f"There are {self._in_all_max} {self._what} already: end some of them."
            )
        if self._counts[who] >= self._of_one_max:
            raise Problem(TOO_MANY, f"You have {self._of_one_max} {self._what} already: end some of them.")
        self._items.add(item)
        self._counts[who] += 1
        try:
            yield
        finally:
            self._items.discard(item)
            self._counts[who] -= 1
            if not self._counts[who]:
                del self._counts[who]
