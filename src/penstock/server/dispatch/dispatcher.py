"""From a frame to its handler and back: header, version check, decode, handle, encode."""

import ipaddress
import logging
import struct
from collections.abc import Awaitable, Callable
from types import CoroutineType
from typing import Any

from penstock.cluster.controller_access import ControllerIsLocal
from penstock.protocol.errors import ErrorCode, ProtocolError
from penstock.protocol.headers import RequestHeader, decode_request_header
from penstock.protocol.messages.api_versions import ApiVersionsResponse
from penstock.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from penstock.runtime.completion import Reply
from penstock.security.principal import decode_principal
from penstock.server.connections import Answer, CloseConnection, Peer
from penstock.server.context import RequestContext, Services
from penstock.server.dispatch.route import Route
from penstock.server.forwarding import forward
from penstock.server.handlers import FORWARDED_BY_KAFKA, HANDLERS, advertised_versions

log = logging.getLogger(__name__)

_SIZE = struct.Struct(">i")
_API_VERSIONS = 18
_ENVELOPE = 58


class _Request(RequestContext, kw_only=True):
    """A request in a handler, and the encoding of its response."""

    route: Route
    header: RequestHeader

    def finish(self, response: Any) -> Answer:
        """Charge quotas, encode and count a response: every response of a handler passes here."""
        services, route, header = self.broker, self.route, self.header
        if services.quotas.is_active and not route.is_internal:
            response = services.quotas.settle(self, route.key, response)
        answer = route.encode(response, header.api_version, header.correlation_id)
        counts = route.counts
        counts.request_bytes += self.request_bytes
        counts.response_bytes += len(answer[0]) if len(answer) == 1 else sum(map(len, answer))
        counts.seconds.observe((services.clock.monotonic_ms() - self.began_ms) / 1000)
        return answer


class Dispatcher:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._routes: dict[int, Route] = {}

    def dispatch(self, frame: bytearray, peer: Peer) -> Answer | Reply[Answer]:
        """Handle one request; raises `ProtocolError` or `CloseConnection` when the connection cannot continue."""
        view = memoryview(frame)
        header, position = decode_request_header(view)
        route = self._routes.get(header.api_key) or self._route(header.api_key, peer)
        version = header.api_version
        if version not in route.versions:
            return self._refuse_version(route, header)
        services = self._services
        if peer.listener in services.controller_listeners and not route.is_of_controllers:
            raise CloseConnection(
                f"it sent {route.name} to a listener of controllers, which does not serve it"
            )
        if not services.is_ready and not route.is_early:
            raise CloseConnection("this broker has not caught up with its cluster yet")
        is_elsewhere = route.is_forwarded and not services.controller.is_active
        if is_elsewhere and route.is_own is None:
            return Reply.of(self._forward(bytes(frame), peer), is_exclusive=True)
        request = route.decode(view, version, position)
        if is_elsewhere and route.is_own is not None and not route.is_own(request):
            return Reply.of(self._forward(bytes(frame), peer), is_exclusive=True)
        ctx = _Request(
            services,
            peer,
            version,
            header.client_id,
            peer.turns.accepted,
            len(frame),
            services.clock.monotonic_ms(),
            route=route,
            header=header,
        )
        limit = route.for_brokers
        if limit is not None and limit.is_meant(request, version) and not peer.is_broker:
            services.strangers.note(peer, f"sent {route.name}")
            return ctx.finish(limit.refusal(request, route.response_type))
        if route.key == _ENVELOPE:
            return Reply.of(self._open_envelope(route, header, request, peer))
        if log.isEnabledFor(logging.DEBUG):
            log.debug(
                "%s v%d. peer=%s correlation_id=%d client_id=%s",
                route.name,
                version,
                peer,
                header.correlation_id,
                header.client_id,
            )
        response = route.handle(ctx, request)
        if services.quotas.is_active:
            ctx.busy_ms = services.clock.monotonic_ms() - ctx.began_ms
        if isinstance(response, CoroutineType):  # of an async handler
            if route.is_forwarded:
                decided = self._decide_or_forward(response, ctx.finish, frame, peer)
                return Reply.of(decided, is_exclusive=route.is_exclusive)
            response = Reply.of(response)
        if not isinstance(response, Reply):
            return ctx.finish(response)
        if route.is_exclusive:
            response.is_exclusive = True
        return response.through(ctx.finish)

    async def _decide_or_forward(
        self, response: Awaitable[Any], finish: Callable[[Any], Answer], frame: bytearray, peer: Peer
    ) -> Answer:
        """Answer as the active controller, or forward to the next one if this node is not active any more."""
        decided = await response
        if _has_not_controller(decided):
            return await self._forward(bytes(frame), peer)
        return finish(decided)

    async def _forward(self, frame: bytes, peer: Peer) -> Answer:
        """Forward the request to the active controller in an envelope (KIP-590)."""
        try:
            response = await forward(self._services, frame, peer)
        except ControllerIsLocal:
            response = await self._answer_to_client(bytearray(frame), peer)
        return (_SIZE.pack(len(response)), response)

    async def _open_envelope(
        self, route: Route, header: RequestHeader, request: EnvelopeRequest, peer: Peer
    ) -> Answer:
        """Answer a forwarded request as if its client were connected here."""
        response = await self._answer_envelope(request, peer)
        return route.encode(response, header.api_version, header.correlation_id)

    async def _answer_envelope(self, request: EnvelopeRequest, peer: Peer) -> EnvelopeResponse:
        if not self._services.quorum.is_active:
            return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)
        try:
            client = _client_of(request, peer)
        except ProtocolError:
            return EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE)
        try:
            data = await self._answer_to_client(bytearray(request.request_data), client)
        except (ProtocolError, CloseConnection) as error:
            # Close the client's connection, not the connection that carries the forwarded requests of all clients.
            log.info("Refused a forwarded request: %s. peer=%s", error, peer)
            return EnvelopeResponse(error_code=ErrorCode.INVALID_REQUEST)
        return EnvelopeResponse(response_data=data)

    async def _answer_to_client(self, frame: bytearray, peer: Peer) -> bytes:
        header, _ = decode_request_header(memoryview(frame))
        route = self._routes.get(header.api_key) or self._route(header.api_key, peer)
        if not route.is_forwarded and route.key not in FORWARDED_BY_KAFKA:
            raise CloseConnection(f"API key {header.api_key} is not one that controllers answer")
        response = self.dispatch(frame, peer)
        if isinstance(response, Reply):
            response = await response
        return b"".join(response)[_SIZE.size :]

    def _route(self, key: int, peer: Peer) -> Route:
        if key not in HANDLERS:
            raise CloseConnection(f"{peer} sent API key {key}, which this broker does not serve")
        route = self._routes[key] = Route(key, self._services.metrics.requests)
        return route

    def _refuse_version(self, route: Route, header: RequestHeader) -> Answer:
        """KIP-511: an unknown version of ApiVersions is answered in v0, with the versions that are served."""
        if route.key != _API_VERSIONS:
            raise CloseConnection(
                f"it sent {route.name} v{header.api_version}; this broker serves "
                f"v{route.versions.start} to v{route.versions.stop - 1}"
            )
        response = ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            api_keys=[v for v in advertised_versions() if v.api_key == _API_VERSIONS],
        )
        return route.encode(response, 0, header.correlation_id)


def _has_not_controller(response: Any) -> bool:
    """Whether any part has the error NOT_CONTROLLER. Then nothing was done: a decision is one batch."""
    if getattr(response, "error_code", None) == ErrorCode.NOT_CONTROLLER:
        return True
    values = (getattr(response, name) for name in getattr(response, "__struct_fields__", ()))
    return any(_has_not_controller(each) for value in values if isinstance(value, list) for each in value)


def _client_of(request: EnvelopeRequest, broker: Peer) -> Peer:
    """Return the client whose request `broker` forwards, as if it were connected here."""
    try:
        host = str(ipaddress.ip_address(request.client_host_address))
    except ValueError:
        host = "unknown"
    client = Peer(broker.listener, host, 0)
    client.is_forwarded = True
    client.principal = decode_principal(request.request_principal or b"")
    return client
