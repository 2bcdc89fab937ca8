"""`GET /groups/{group}/subscribe?topics=a,b` as a WebSocket: a consumer of a group without a Kafka client.

The messages are in `subscription_messages`. An error before joining is an ordinary HTTP response; after that problems
are messages. A subscriber that closes the connection, or does not answer pings, leaves the group at once; when its
broker dies, the group waits for the session timeout.
"""

import asyncio
import contextlib
import uuid
from typing import Any, Final

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from penstock.client.aio import Client
from penstock.console.events import first_done
from penstock.gateway.http.app import PROBLEM, Paths, operation
from penstock.gateway.http.open_requests import OpenRequests, counted_client
from penstock.gateway.http.parameters import check_names, integer, one_of
from penstock.gateway.http.problems import Problem, bad_request, of_failure
from penstock.gateway.http.read import ISOLATIONS
from penstock.gateway.http.record_forms import FORMS
from penstock.gateway.http.subscription import SubscribeRequest, Subscription
from penstock.gateway.http.subscription_messages import problem_message, read_message

_PARAMETERS: Final = ("topics", "reset", "window", "isolation", "format", "max_processing_ms")
SUBSCRIPTIONS_MAX: Final = 256
SUBSCRIPTIONS_PER_USER_MAX: Final = 64
_WINDOW_MAX: Final = 10_000
_PING_S: Final = 15.0
_CLOSE_S: Final = 1.0
_STALLED_S: Final = 60.0
_MESSAGE_BYTES_MAX: Final = 1024 * 1024
_UPGRADE_REQUIRED: Final = 426

PATHS: Final[Paths] = {
    "/groups/{group}/subscribe": {
        "get": operation(
            "subscribe",
            "Consume topics as a member of a group, over a WebSocket",
            {
                "101": {"description": "A WebSocket; its messages are described in docs/gateway.md"},
                "default": PROBLEM,
            },
            parameters=["group", *_PARAMETERS],
        )
    }
}


def routes(app: web.Application) -> None:
    opened: OpenRequests[web.WebSocketResponse] = OpenRequests(
        "subscriptions", total_max=SUBSCRIPTIONS_MAX, per_user_max=SUBSCRIPTIONS_PER_USER_MAX
    )

    async def subscribe(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(
            heartbeat=_PING_S,
            timeout=_CLOSE_S,
            compress=False,  # it would block the broker's loop
            max_msg_size=_MESSAGE_BYTES_MAX,
            writer_limit=_MESSAGE_BYTES_MAX,
        )
        if not socket.can_prepare(request):
            raise Problem(_UPGRADE_REQUIRED, "This is a WebSocket: send an upgrade request.")
        async with counted_client(request, opened, socket) as client:
            return await _subscribe(request, socket, client)

    async def end_all(_app: web.Application) -> None:
        closing = [
            socket.close(code=WSCloseCode.GOING_AWAY, message=b"the broker is stopping")
            for socket in opened
            if socket.prepared
        ]
        await asyncio.gather(*closing, return_exceptions=True)

    app.router.add_get("/groups/{group}/subscribe", subscribe, allow_head=False)
    app.on_shutdown.append(end_all)


def _parameters(request: web.Request) -> SubscribeRequest:
    query = request.query
    check_names(query, _PARAMETERS)
    topics = tuple(dict.fromkeys(word for word in query.get("topics", "").split(",") if word))
    if not topics:
        raise bad_request("Name the topics to consume: ?topics=a,b.")
    return SubscribeRequest(
        group=request.match_info["group"],
        topics=topics,
        reset=one_of(query, "reset", ("latest", "earliest", "none")),
        window=integer(query, "window", 1_000, 1, _WINDOW_MAX),
        form=one_of(query, "format", FORMS),
        reads_committed_only=one_of(query, "isolation", ISOLATIONS) == "read_committed",
        processing_ms_max=integer(query, "max_processing_ms", 300_000, 1, 3_600_000),
    )


async def _subscribe(
    request: web.Request, socket: web.WebSocketResponse, client: Client
) -> web.WebSocketResponse:
    wanted = _parameters(request)
    for topic in wanted.topics:
        await client.topic(topic)
    subscription = Subscription(client, wanted, str(uuid.uuid4()))
    try:
        await subscription.join()
        await socket.prepare(request)
        await _run(socket, subscription)
    finally:
        await asyncio.shield(subscription.leave())
    return socket


async def _run(socket: web.WebSocketResponse, subscription: Subscription) -> None:
    """Serve the subscription until either side ends it."""

    async def send(message: dict[str, Any]) -> None:
        async with asyncio.timeout(_STALLED_S):
            await socket.send_str(msgspec.json.encode(message).decode())

    try:
        await first_done(subscription.run(send), _listen(socket, subscription, send))
    except Exception as failure:  # noqa: BLE001  answered there, or raised again
        await _end(socket, _first_of(failure), send)
    else:
        await socket.close()


async def _listen(socket: web.WebSocketResponse, subscription: Subscription, send: Any) -> None:
    async for message in socket:
        if message.type is WSMsgType.ERROR:
            return
        try:
            if message.type is not WSMsgType.TEXT:
                raise bad_request("A message must be a JSON text.")
            await subscription.on_message(read_message(message.data))
        except Problem as problem:
            await send(problem_message(problem))


async def _end(socket: web.WebSocketResponse, failure: BaseException, send: Any) -> None:
    """Send the reason and close, unless the subscriber has gone."""
    if isinstance(failure, ConnectionError | TimeoutError):
        await socket.close()
        return
    problem = of_failure(failure)
    if problem is None:
        await socket.close(code=WSCloseCode.INTERNAL_ERROR, message=b"unhandled error in the broker")
        raise failure
    with contextlib.suppress(ConnectionError, TimeoutError):
        await send(problem_message(problem))
    await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=problem.detail.encode()[:120])


def _first_of(failure: BaseException) -> BaseException:
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
