"""The web application of the admin port: the middleware and the responses that all its parts share.

A part is a module with `routes(app, …)`, which adds its routes, and `PATHS`, which describes them for OpenAPI.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from penstock.console import broker_errors
from penstock.console.failures import FailureLog, is_clients_fault
from penstock.gateway.http import guard, problems
from penstock.gateway.http.clients import Clients
from penstock.gateway.http.problems import Problem
from penstock.runtime.clock import Clock

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Paths = Mapping[str, Mapping[str, Any]]
"""OpenAPI's `paths`: for each path, for each method, an operation."""

CLIENTS: Final = web.AppKey("clients", Clients)

_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def reference(kind: str, name: str) -> dict[str, str]:
    """A schema, a parameter or a response of the OpenAPI document (`openapi`)."""
    return {"$ref": f"#/components/{kind}/{name}"}


def content(
    description: str, schema: str | Mapping[str, Any], media_type: str = "application/json"
) -> dict[str, Any]:
    """A response of an operation, or its request body; `schema` may be a name."""
    shape = reference("schemas", schema) if isinstance(schema, str) else schema
    return {"description": description, "content": {media_type: {"schema": shape}}}


PROBLEM: Final = reference("responses", "Problem")


def operation(
    operation_id: str,
    summary: str,
    responses: Mapping[str, Any],
    *,
    parameters: Iterable[str] = (),
    is_open: bool = False,
) -> dict[str, Any]:
    """Describe one operation for OpenAPI; one that `is_open` needs no login."""
    described = {"operationId": operation_id, "summary": summary, "responses": responses}
    if is_open:
        described["security"] = []
    named = [reference("parameters", name) for name in parameters]
    return described | {"parameters": named} if named else described


def make_app(hosts: Iterable[str], clock: Clock) -> web.Application:
    """An application without routes; `hosts` are the host names that it accepts, see `guard`."""
    allowed = frozenset(each.lower() for each in hosts)
    failures = FailureLog(clock)

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            guard.check(request.method, request.headers, allowed)
            response = await handler(request)
        except web.HTTPException as error:
            if error.status < broker_errors.BAD_REQUEST:
                raise
            response = problem_response(_of_http(request, error))
        except Exception as failure:
            problem = problems.of_failure(failure)
            if problem is None and is_clients_fault(failure):
                log.debug(
                    "%s did not finish %s %s: %s", request.remote, request.method, request.path, failure
                )
                if isinstance(failure, ConnectionError):
                    raise  # the client has gone
                problem = problems.bad_request("The request body was cut off, or does not match its headers.")
            if problem is None:
                failures.log("the admin port", request, failure)
                problem = Problem(500, "Unhandled error in the broker: see its log.")
            response = problem_response(problem)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    return web.Application(middlewares=[guarded], client_max_size=guard.BODY_BYTES_MAX)


def _of_http(request: web.Request, error: web.HTTPException) -> Problem:
    """Errors of aiohttp itself."""
    if error.status == broker_errors.NOT_FOUND:
        return Problem(error.status, f"There is no {request.path}: /openapi.json lists all paths.")
    if error.status == broker_errors.TOO_LARGE:
        return guard.too_large()
    if isinstance(error, web.HTTPMethodNotAllowed):
        methods = ", ".join(sorted(error.allowed_methods))
        return Problem(error.status, f"{request.path} accepts {methods}, not {request.method}.")
    return Problem(error.status, error.reason)


def problem_response(problem: Problem) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(problem.document()),
        status=problem.status,
        content_type=problems.CONTENT_TYPE,
        headers=problem.headers(),
    )


def json_response(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json")
