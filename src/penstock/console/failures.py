"""Failures of web requests: which ones clients cause, and rate-limited logging of the others."""

import logging

from aiohttp import web
from aiohttp.http import HttpProcessingError

from penstock.observability.log_limiter import LogLimiter
from penstock.runtime.clock import Clock

_log = logging.getLogger(__name__)


def is_clients_fault(failure: BaseException | None) -> bool:
    """Whether the client hung up or sent invalid HTTP, which is not logged: anybody can cause it."""
    return isinstance(failure, ConnectionError | web.RequestPayloadError | HttpProcessingError)


class FailureLog:
    """Logs unhandled errors with their tracebacks, at most once a minute for each kind and route."""

    def __init__(self, clock: Clock) -> None:
        self._log_limiter = LogLimiter(clock)

    def log(self, where: str, request: web.Request, failure: BaseException) -> None:
        resource = request.match_info.route.resource
        route = request.path if resource is None else resource.canonical
        if times := self._log_limiter.times((request.method, route, type(failure))):
            again = "" if times == 1 else f" ({times} times since this was logged last)"
            _log.error(
                "Unhandled error in %s: %s %s%s", where, request.method, route, again, exc_info=failure
            )
