"""Login, logout, and the session of the page."""

import asyncio
import math
from typing import Final

import msgspec
from aiohttp import web

from penstock.client.aio import AuthenticationFailed, Client
from penstock.client.aio.security import with_password
from penstock.console.access import ACCESS, COOKIE, Access
from penstock.console.broker_errors import TOO_MANY, UNAUTHORIZED
from penstock.console.refusals import Refused, bad_request
from penstock.console.web import answer, body_of

_FAILURE_DELAY_S: Final = 1.0
_CREDENTIALS_BYTES_MAX: Final = 8 * 1024  # the sender is not authenticated yet


class Credentials(msgspec.Struct, kw_only=True):
    username: str
    password: str

    def __repr__(self) -> str:
        """Without the password: errors and logs show values."""
        return f"Credentials(username={self.username!r})"


async def show_session(request: web.Request) -> web.Response:
    access = request.app[ACCESS]
    session = access.sessions.find(request.cookies.get(COOKIE))
    return answer(
        {
            "needsLogin": access.needs_login,
            "user": session.user if session is not None else None,
            "cluster": access.settings.bootstrap,
        }
    )


async def log_in(request: web.Request) -> web.Response:
    """A failure is answered late and does not say which part was wrong."""
    access = request.app[ACCESS]
    if not access.needs_login:
        raise bad_request("This console needs no login.")
    wanted = await body_of(request, Credentials, _CREDENTIALS_BYTES_MAX)
    address = request.remote or ""
    if wait_ms := access.login_limit.begin(address):
        raise Refused(
            TOO_MANY,
            "TOO_MANY",
            f"Too many logins from your address have failed: try again in {math.ceil(wait_ms / 1000)} s.",
        )
    async with access.logins:
        client = await _logged_in(access, wanted)
    access.login_limit.succeeded(address)
    await access.sessions.end(request.cookies.get(COOKIE))
    token = await access.sessions.begin(wanted.username, client)
    response = answer({"user": wanted.username})
    response.set_cookie(
        COOKIE, token, path=access.path, httponly=True, samesite="Strict", secure=request.scheme == "https"
    )
    return response


async def _logged_in(access: Access, wanted: Credentials) -> Client:
    client = Client(
        access.settings,
        security=with_password(wanted.username, wanted.password, tls=access.tls),
        clock=access.clock,
    )
    try:
        await client.metadata([])
    except AuthenticationFailed:
        await client.close()
        await asyncio.sleep(_FAILURE_DELAY_S)
        raise Refused(
            UNAUTHORIZED, "AUTHENTICATION_FAILED", "The cluster did not accept this user and password."
        ) from None
    except BaseException:
        await client.close()
        raise
    return client


async def log_out(request: web.Request) -> web.Response:
    access = request.app[ACCESS]
    await access.sessions.end(request.cookies.get(COOKIE))
    response = answer({})
    response.del_cookie(COOKIE, path=access.path)
    return response


OPEN_ROUTES = (
    ("GET", "session", show_session),
    ("POST", "login", log_in),
    ("POST", "logout", log_out),
)
