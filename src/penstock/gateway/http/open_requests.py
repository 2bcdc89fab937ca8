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
async def counted_client(request: web.Request, opened: "OpenRequests[T]", item: T) -> AsyncIterator[Client]:
    """Lend a client to a long-lived request, and count the request. Raises `Problem`."""
    clients, authorization = request.app[CLIENTS], request.headers.get("Authorization")
    with opened.counted(clients.user_key(authorization, request.remote), item):
        async with clients.lent(authorization, request.remote) as client:
            yield client


class OpenRequests(Generic[T]):
    def __init__(self, what: str, *, total_max: int, per_user_max: int) -> None:
        """`what` names them in errors, in the plural."""
        self._what = what
        self._total_max = total_max
        self._per_user_max = per_user_max
        self._items: set[T] = set()
        self._counts: Counter[str] = Counter()

    def __iter__(self) -> Iterator[T]:
        return iter(set(self._items))

    @contextlib.contextmanager
    def counted(self, who: str, item: T) -> Iterator[None]:
        """Raises `Problem` when there are too many."""
        if len(self._items) >= self._total_max:
            raise Problem(
                UNAVAILABLE, f"There are {self._total_max} {self._what} already: close some of them."
            )
        if self._counts[who] >= self._per_user_max:
            raise Problem(
                TOO_MANY, f"You have {self._per_user_max} {self._what} already: close some of them."
            )
        self._items.add(item)
        self._counts[who] += 1
        try:
            yield
        finally:
            self._items.discard(item)
            self._counts[who] -= 1
            if not self._counts[who]:
                del self._counts[who]
