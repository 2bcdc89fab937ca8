"""Puts the console together and mounts it on an aiohttp application.

    connection = ClientSettings.from_properties({"bootstrap.servers": "127.0.0.1:9092"})
    routes(app, ConsoleSettings(connection=connection))

serves the pages at `/console/` and their JSON below `/console/api/`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from penstock.client.aio import ANONYMOUS, AuthenticationFailed, ClientSettings, Security
from penstock.console import guard
from penstock.console.access import ACCESS, COOKIE, Access, login_needed
from penstock.console.api import (
    acls,
    brokers,
    configs,
    disks,
    group_reset,
    groups,
    messages,
    mirrors,
    overview,
    pipelines,
    produce,
    session,
    sql,
    streams,
    topics,
)
from penstock.console.broker_errors import FORBIDDEN, UNSUPPORTED_MEDIA_TYPE
from penstock.console.failures import FailureLog
from penstock.console.refusals import Refused, of_failure
from penstock.console.web import (
    BODIES,
    CLIENT,
    DECODING,
    DECODING_AT_ONCE_MAX,
    PIPELINES,
    SQL_QUERIES,
    SQL_QUERIES_AT_ONCE_MAX,
    STREAMS,
    Bodies,
    PipelineFiles,
    Streams,
    refused,
)
from penstock.runtime.clock import Clock, SystemClock

PATH: Final = "/console"
_STATIC: Final = os.path.join(os.path.dirname(__file__), "static")
_DEADLINE_MS: Final = 8_000  # a person waits
_PAGES: Final = (
    overview, topics, configs, messages, produce, streams, groups, group_reset, brokers, disks, mirrors, acls,
    pipelines, sql,
)  # fmt: skip

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ConsoleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster of the console, and its user.

    With `needs_login` every user of the console logs in with a user name and a password of the cluster, and only the
    TLS settings of `security` are used. Otherwise the console acts as the user of `security`. `allowed_hosts` are names
    under which browsers may reach it (* for any), besides `localhost` and addresses.
    """

    connection: ClientSettings
    security: Security = ANONYMOUS
    needs_login: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    pipeline_directories: tuple[str, ...] = ()


def routes(app: web.Application, settings: ConsoleSettings, *, clock: Clock | None = None) -> None:
    """Mount the console at `/console/`; `/` redirects to it unless another route has it."""

    async def to_console(_: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"{PATH}/")

    app.router.add_get(PATH, to_console)
    if not any(resource.canonical == "/" for resource in app.router.resources()):
        app.router.add_get("/", to_console)
    app.add_subapp(PATH, _console(settings, clock or SystemClock()))


def _console(settings: ConsoleSettings, clock: Clock) -> web.Application:
    console = web.Application(
        middlewares=[_guard_middleware(settings.allowed_hosts), _error_middleware(clock), _client_middleware]
    )
    console[ACCESS] = Access(
        msgspec.structs.replace(settings.connection, deadline_ms=_DEADLINE_MS, client_id="penstock-console"),
        needs_login=settings.needs_login,
        security=settings.security,
        path=PATH,
        clock=clock,
    )
    console[STREAMS] = Streams()
    console[BODIES] = Bodies()
    console[DECODING] = asyncio.Semaphore(DECODING_AT_ONCE_MAX)
    console[SQL_QUERIES] = asyncio.Semaphore(SQL_QUERIES_AT_ONCE_MAX)
    console[PIPELINES] = PipelineFiles(settings.pipeline_directories)
    for page in _PAGES:
        for method, path, handler in page.ROUTES:
            console.router.add_route(method, f"/api/{path}", handler)
    for method, path, handler in session.OPEN_ROUTES:
        console.router.add_route(method, f"/api/{path}", handler)
    console.router.add_get("/", _index)
    console.router.add_static("/", _STATIC)
    console.on_response_prepare.append(_with_headers)
    console.on_shutdown.append(_end_streams)
    console.cleanup_ctx.append(_lifespan)
    return console


async def _index(_: web.Request) -> web.StreamResponse:
    return web.FileResponse(os.path.join(_STATIC, "index.html"))


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(guard.SECURITY_HEADERS)
    if not request.path.startswith(f"{PATH}/api/"):
        response.headers["Cache-Control"] = "no-cache"  # revalidated: 304 while nothing changed


def _guard_middleware(allowed_hosts: frozenset[str]) -> Middleware:
    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject requests of other sites, and compressed ones."""
        why = guard.rejection_reason(request.method, request.headers, allowed_hosts)
        if why is not None:
            return refused(Refused(FORBIDDEN, "NOT_FROM_HERE", why))
        if guard.is_compressed(request.headers):
            return refused(
                Refused(UNSUPPORTED_MEDIA_TYPE, "COMPRESSED", "Compressed requests are not accepted.")
            )
        return await handler(request)

    return middleware


def _error_middleware(clock: Clock) -> Middleware:
    failures = FailureLog(clock)

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn failures into JSON errors. A session ends when its credentials are no longer valid."""
        access, token = request.app[ACCESS], request.cookies.get(COOKIE)
        try:
            return await handler(request)
        except AuthenticationFailed as failure:  # the password was changed, the user is gone
            if not access.needs_login:
                return refused(
                    Refused(FORBIDDEN, "AUTHENTICATION_FAILED", f"The console's own user: {failure}.")
                )
            await access.sessions.end(token)
            return refused(login_needed())
        except web.HTTPException as error:
            if error.status < 400 or not request.path.startswith(f"{PATH}/api/"):
                raise
            return refused(Refused(error.status, error.reason.upper().replace(" ", "_"), f"{error.reason}."))
        except Exception as failure:
            problem = of_failure(failure, "The request failed")
            if problem is None and isinstance(failure, ConnectionError):
                raise  # the browser has gone
            if problem is None:
                failures.log("the console", request, failure)
                problem = Refused(500, "INTERNAL", "Unhandled error in the console: see its log.")
            return refused(problem)

    return middleware


@web.middleware
async def _client_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    if _needs_client(request):
        request[CLIENT] = request.app[ACCESS].client(request.cookies.get(COOKIE))
    return await handler(request)


def _needs_client(request: web.Request) -> bool:
    path = request.path.removeprefix(f"{PATH}/api/")
    return path != request.path and path not in {open_path for _, open_path, _ in session.OPEN_ROUTES}


async def _end_streams(console: web.Application) -> None:
    console[STREAMS].end_all()


async def _lifespan(console: web.Application) -> AsyncIterator[None]:
    sweeping = asyncio.create_task(console[ACCESS].sessions.sweep())
    yield
    sweeping.cancel()
    await console[ACCESS].close()
