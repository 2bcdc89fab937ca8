"""Login sessions, in memory only: a restart logs every user out, and no secret reaches a disk.

A session is found by a random token, which the browser keeps in a cookie. It ends after half an hour without a
request, after twelve hours in any case, or when a newer one needs its place.
"""

import secrets
from collections.abc import Callable
from typing import Final

from penstock.client.aio import Client
from penstock.runtime.clock import Clock

IDLE_MS_MAX: Final = 30 * 60_000
AGE_MS_MAX: Final = 12 * 3_600_000
SESSIONS_MAX: Final = 256
_SWEEP_MS: Final = 60_000


class Session:
    __slots__ = ("client", "made_ms", "seen_ms", "user")

    def __init__(self, user: str, client: Client, now_ms: float) -> None:
        self.user = user
        self.client = client
        self.made_ms = now_ms
        self.seen_ms = now_ms

    def is_over(self, now_ms: float) -> bool:
        return now_ms - self.seen_ms > IDLE_MS_MAX or now_ms - self.made_ms > AGE_MS_MAX


class Sessions:
    def __init__(
        self, clock: Clock, new_token: Callable[[], str] = lambda: secrets.token_urlsafe(32)
    ) -> None:
        self._clock = clock
        self._new_token = new_token
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    async def begin(self, user: str, client: Client) -> str:
        """Keep the client of this user; returns the session's token."""
        await self.end_old()
        while len(self._sessions) >= SESSIONS_MAX:
            await self.end(min(self._sessions, key=lambda token: self._sessions[token].seen_ms))
        token = self._new_token()
        self._sessions[token] = Session(user, client, self._clock.monotonic_ms())
        return token

    def find(self, token: str | None) -> Session | None:
        """Return an open session and reset its idle time."""
        session = self._sessions.get(token or "")
        now_ms = self._clock.monotonic_ms()
        if session is None or session.is_over(now_ms):
            return None
        session.seen_ms = now_ms
        return session

    def is_open(self, token: str | None) -> bool:
        """Whether the session is open, without extending it."""
        session = self._sessions.get(token or "")
        return session is not None and not session.is_over(self._clock.monotonic_ms())

    async def end(self, token: str | None) -> None:
        session = self._sessions.pop(token or "", None)
        if session is not None:
            await session.client.close()

    async def end_old(self) -> None:
        now_ms = self._clock.monotonic_ms()
        for token in [token for token, each in self._sessions.items() if each.is_over(now_ms)]:
            await self.end(token)

    async def sweep(self) -> None:
        """End expired sessions every minute, so that no password outlives its session for long."""
        while True:
            await self._clock.sleep(_SWEEP_MS)
            await self.end_old()

    async def end_all(self) -> None:
        for token in list(self._sessions):
            await self.end(token)
