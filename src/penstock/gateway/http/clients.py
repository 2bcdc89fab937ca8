"""Clients of the cluster for the users of the gateways: one for each credential, kept for a while after its use.

A request acts as the user of its `Authorization` header: Basic for a user and password, which the broker checks with
SCRAM or PLAIN, Bearer for a token of OAUTHBEARER. On a listener without login, every user is anonymous.

A new client logs in before it is lent, once for all requests with its credentials; failed logins of an address are
rate-limited (`login_limit`). When a user's password changes, the client of the old one is not used again.
"""

import asyncio
import base64
import binascii
import contextlib
import logging
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec

from penstock.client.aio import Client
from penstock.client.aio.security import Security, with_password, with_token
from penstock.client.errors import AuthenticationFailed
from penstock.client.settings import ClientSettings
from penstock.console.broker_errors import TOO_MANY, UNAUTHORIZED, UNAVAILABLE
from penstock.gateway.http.problems import Problem
from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock
from penstock.security.login_limit import LoginLimit

log = logging.getLogger(__name__)

CLIENTS_MAX: Final = 256
IDLE_MS: Final = 60_000
_DEADLINE_MS: Final = 20_000  # retries end before most HTTP clients give up
_LOGIN_HINT: Final = "Send a user and password (Authorization: Basic) or a token (Authorization: Bearer)."


class KafkaAccess(msgspec.Struct, frozen=True, kw_only=True):
    bootstrap: tuple[tuple[str, int], ...]
    needs_login: bool = False
    tls: ssl.SSLContext | None = None


Stored = Callable[[str], object]
"""A user's stored credential in the cluster: it changes with the password."""


async def log_in(client: Client) -> None:
    """Raises `AuthenticationFailed`."""
    await client.metadata([])


class _CachedClient:
    __slots__ = ("client", "is_logged_in", "logging_in", "stored", "unused_since_ms", "users")

    def __init__(self, client: Client, stored: object) -> None:
        self.client = client
        self.stored = stored
        self.logging_in = asyncio.Lock()
        self.is_logged_in = False
        self.users = 0
        self.unused_since_ms = 0.0


class Clients:
    def __init__(
        self,
        access: KafkaAccess,
        clock: Clock,
        stored: Stored = lambda _user: None,
        log_in: Callable[[Client], Awaitable[None]] = log_in,
    ) -> None:
        self._access = access
        self._clock = clock
        self._stored = stored
        self._log_in = log_in
        self._limit = LoginLimit(clock)
        self._refusals = LogLimiter(clock)
        self._kept: dict[str, _CachedClient] = {}
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._kept)

    @contextlib.asynccontextmanager
    async def lent(self, authorization: str | None, address: str | None) -> AsyncIterator[Client]:
        """Lend the client of the user that this header names, for a request from `address`.

        Raises `Problem` for an invalid header or too many failed logins of the address, and `AuthenticationFailed`.
        """
        key, security = self._identified(authorization)
        stored = self._stored(user_of(security))
        kept = self._kept.get(key)
        if kept is not None and kept.stored != stored:
            await self._forget(key)
            kept = None
        if kept is None:
            await self._make_room()
            kept = self._kept[key] = _CachedClient(self._client(security), stored)
        kept.users += 1
        try:
            if self._access.needs_login:
                await self._logged_in(kept, address or "")
            yield kept.client
        except AuthenticationFailed:
            kept.is_logged_in = False
            raise
        finally:
            if self._access.needs_login and not kept.is_logged_in and self._kept.get(key) is kept:
                del self._kept[
                    key
                ]  # the next request logs in again: the user may have been created meanwhile
            kept.users -= 1
            kept.unused_since_ms = self._clock.monotonic_ms()
            if kept.users == 0 and self._kept.get(key) is not kept:
                await kept.client.close()
            elif self._sweeper is None:
                self._sweeper = asyncio.create_task(self._sweep(), name="idle-gateway-clients")

    async def _logged_in(self, kept: _CachedClient, address: str) -> None:
        async with kept.logging_in:
            if kept.is_logged_in:
                return
            if wait_ms := self._limit.begin(address):
                raise self._refused(address, math.ceil(wait_ms / 1000))
            await self._log_in(kept.client)
            self._limit.succeeded(address)
            kept.is_logged_in = True

    def _refused(self, address: str, wait_s: int) -> Problem:
        if times := self._refusals.times(address):
            again = "" if times == 1 else f" ({times} requests in the last minute)"
            log.warning("Rejected a login from %s: too many have failed%s", address, again)
        return Problem(
            TOO_MANY,
            f"Too many logins from your address have failed: try again in {wait_s} s.",
            retry_after_s=wait_s,
        )

    def user_key(self, authorization: str | None, address: str | None) -> str:
        """Return a key for the user, or for the address where there is no login. Raises `Problem`."""
        if not self._access.needs_login:
            return address or ""
        key, security = self._identified(authorization)
        return user_of(security) or key

    async def _forget(self, key: str) -> None:
        """A client in use is closed by its last user."""
        kept = self._kept.pop(key)
        if kept.users == 0:
            await kept.client.close()

    async def close(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
        kept, self._kept = self._kept, {}
        for each in kept.values():
            await each.client.close()

    def _identified(self, authorization: str | None) -> tuple[str, Security]:
        if not self._access.needs_login:
            return "", Security(tls=self._access.tls)
        if authorization is None:
            raise Problem(UNAUTHORIZED, f"This cluster requires a login. {_LOGIN_HINT}")
        return authorization, credentials(authorization, self._access.tls)

    def _client(self, security: Security) -> Client:
        settings = ClientSettings(
            bootstrap_servers=self._access.bootstrap, client_id="penstock-http", deadline_ms=_DEADLINE_MS
        )
        return Client(settings, security=security, clock=self._clock)

    async def _make_room(self) -> None:
        while len(self._kept) >= CLIENTS_MAX:
            idle = [key for key, kept in self._kept.items() if kept.users == 0]
            if not idle:
                raise Problem(UNAVAILABLE, "Too many users are active at once; try again in a moment.")
            await self._kept.pop(min(idle, key=lambda key: self._kept[key].unused_since_ms)).client.close()

    async def _sweep(self) -> None:
        while self._kept:
            await self._clock.sleep(IDLE_MS / 2)
            oldest_ms = self._clock.monotonic_ms() - IDLE_MS
            for key, kept in list(self._kept.items()):
                if kept.users == 0 and kept.unused_since_ms <= oldest_ms:
                    del self._kept[key]
                    await kept.client.close()
        self._sweeper = None


def user_of(security: Security) -> str:
    """The user name; that of a token is known to the broker only."""
    return next((each.username for each in security.logins if each.username), "")


def credentials(authorization: str, tls: ssl.SSLContext | None) -> Security:
    """The credentials of an `Authorization` header. Raises `Problem`."""
    scheme, _, rest = authorization.partition(" ")
    if scheme.lower() == "bearer" and rest.strip():
        return with_token(rest.strip(), tls)
    if scheme.lower() == "basic":
        with contextlib.suppress(binascii.Error, UnicodeDecodeError, ValueError):
            username, colon, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
            if colon and username:
                return with_password(username, password, tls)
    raise Problem(UNAUTHORIZED, f"The Authorization header cannot be read. {_LOGIN_HINT}")
