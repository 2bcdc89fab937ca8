"""The client of a request: that of its session, or the console's own where there is no login."""

import asyncio
import ssl
from typing import Final

from aiohttp import web

from penstock.client.aio import Client, ClientSettings, Security
from penstock.console.broker_errors import UNAUTHORIZED
from penstock.console.refusals import Refused
from penstock.console.sessions import Sessions
from penstock.runtime.clock import Clock
from penstock.security.login_limit import LoginLimit

COOKIE: Final = "penstock_console"
_LOGINS_AT_ONCE_MAX: Final = 4


def login_needed() -> Refused:
    return Refused(UNAUTHORIZED, "LOGIN_NEEDED", "Log in first: there is no session, or it has expired.")


class Access:
    def __init__(
        self,
        settings: ClientSettings,
        *,
        needs_login: bool,
        security: Security,
        path: str,
        clock: Clock,
    ) -> None:
        self.settings = settings
        self.needs_login = needs_login
        self.tls: ssl.SSLContext | None = security.tls
        self.path = path
        self.clock = clock
        self.sessions = Sessions(clock)
        self.login_limit = LoginLimit(clock)
        self.logins = asyncio.Semaphore(_LOGINS_AT_ONCE_MAX)  # guessing passwords is slow
        self._security = security
        self._own: Client | None = None

    def client(self, token: str | None) -> Client:
        """The client of the request's user. Raises `Refused` without a login where one is required."""
        if not self.needs_login:
            if self._own is None:
                self._own = Client(self.settings, security=self._security, clock=self.clock)
            return self._own
        session = self.sessions.find(token)
        if session is None:
            raise login_needed()
        return session.client

    def check(self, token: str | None) -> None:
        """Raise `Refused` once the session of a long request has ended."""
        if self.needs_login and not self.sessions.is_open(token):
            raise login_needed()

    async def close(self) -> None:
        await self.sessions.end_all()
        if self._own is not None:
            await self._own.close()


ACCESS: Final = web.AppKey("console_access", Access)
