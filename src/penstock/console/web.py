"""Common parts of the console's handlers: the request's client, JSON bodies, event streams."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web
from aiohttp.http import HttpProcessingError

from penstock.client.aio import Client
from penstock.console.broker_errors import REQUEST_TIMEOUT, TOO_LARGE, TOO_MANY
from penstock.console.events import Events, event, send_events
from penstock.console.refusals import Refused, bad_request, of_failure

T = TypeVar("T")

CLIENT: Final = web.RequestKey("console_client", Client)
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_BODIES_BYTES_MAX: Final = 32 * 1024 * 1024
_BODY_S_MAX: Final = 30.0
STREAMS_MAX: Final = 64


class Streams:
    """The open event streams; each occupies a connection to brokers."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        if len(self._tasks) >= STREAMS_MAX:
            raise Refused(TOO_MANY, "TOO_MANY", "Too many live views are open: close some of them.")
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    def end_all(self) -> None:
        """End all streams, when the server stops."""
        for task in self._tasks:
            task.cancel()


class PipelineFiles(msgspec.Struct, frozen=True):
    """The directories with status files of pipelines."""

    directories: tuple[str, ...]


class Bodies:
    """Reads request bodies within a common memory limit."""

    __slots__ = ("held_bytes",)

    def __init__(self) -> None:
        self.held_bytes = 0

    async def read(self, request: web.Request, bytes_max: int) -> bytes:
        parts: list[bytes] = []
        size_bytes = 0
        try:
            async with asyncio.timeout(_BODY_S_MAX):
                async for part in request.content.iter_any():
                    if size_bytes + len(part) > bytes_max:
                        raise Refused(
                            TOO_LARGE, "TOO_LARGE", f"The request body may have at most {bytes_max} bytes."
                        )
                    if self.held_bytes + len(part) > _BODIES_BYTES_MAX:
                        raise Refused(
                            TOO_MANY, "TOO_MANY", "Too many request bodies are being received: try again."
                        )
                    parts.append(part)
                    size_bytes += len(part)
                    self.held_bytes += len(part)
        except TimeoutError:
            raise Refused(
                REQUEST_TIMEOUT, "TOO_SLOW", f"The request did not arrive within {_BODY_S_MAX:.0f} s."
            ) from None
        except (ConnectionError, web.RequestPayloadError, HttpProcessingError):
            raise bad_request("The request body was cut off, or does not match its headers.") from None
        finally:
            self.held_bytes -= size_bytes
        return b"".join(parts)


STREAMS: Final = web.AppKey("console_streams", Streams)
BODIES: Final = web.AppKey("console_bodies", Bodies)
DECODING: Final = web.AppKey("console_decoding", asyncio.Semaphore)
DECODING_AT_ONCE_MAX: Final = 2
SQL_QUERIES: Final = web.AppKey("console_sql_queries", asyncio.Semaphore)
SQL_QUERIES_AT_ONCE_MAX: Final = 2
PIPELINES: Final = web.AppKey("console_pipelines", PipelineFiles)


async def body_of(request: web.Request, kind: type[T], bytes_max: int = BODY_BYTES_MAX) -> T:
    """Decode the JSON body as this type."""
    try:
        return msgspec.json.decode(await request.app[BODIES].read(request, bytes_max), type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise bad_request(f"The request cannot be read: {error}.") from None


def answer(value: Any, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def refused(error: Refused) -> web.Response:
    return answer({"error": {"code": error.code, "message": error.message}}, error.status)


def integer(request: web.Request, name: str, default: int, least: int, most: int) -> int:
    """Read a number from the query and check its bounds."""
    text = request.query.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        raise bad_request(f"{name} must be a number, not {text!r}.") from None
    if not least <= number <= most:
        raise bad_request(f"{name} must be between {least} and {most}.")
    return number


async def stream(
    request: web.Request, what: str, body: Callable[[Events], Awaitable[None]]
) -> web.StreamResponse:
    """Answer with a stream that `body` fills. A failure is sent as an event `refused`; `what` begins its message."""

    async def counted(events: Events) -> None:
        with request.app[STREAMS].counted():
            await body(events)

    def last_event(failure: Exception) -> bytes | None:
        problem = of_failure(failure, what)
        if problem is None:
            return None
        return event("refused", None, {"code": problem.code, "message": problem.message})

    return await send_events(request, counted, last_event)
