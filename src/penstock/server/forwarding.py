"""Forwards requests to the active controller on another node, in an envelope (KIP-590)."""

import ipaddress
from typing import Any

from penstock.cluster.controller.decision import Refusal
from penstock.protocol import apis
from penstock.protocol.errors import ProtocolError
from penstock.protocol.headers import RequestHeader, decode_response_header, encode_request_header
from penstock.security.principal import encode_principal
from penstock.server.connections import CloseConnection, Peer
from penstock.server.context import RequestContext, Services

_FORWARD_MS_MAX = 10_000


async def forward(services: Services, frame: bytes, peer: Peer) -> bytes:
    """Return the controller's response to a client's request, both with their headers.

    Raises `CloseConnection` when there is none, and `ControllerIsLocal` when this node has become the controller.
    """
    try:
        return await services.access.forward(
            frame, encode_principal(peer.principal), _packed(peer.host), _FORWARD_MS_MAX
        )
    except (OSError, ProtocolError, Refusal) as error:
        raise CloseConnection(f"no controller could be asked ({error or type(error).__name__})") from error


async def ask_controller(ctx: RequestContext, key: int, request: Any) -> Any:
    """Send a request to the controller on behalf of the client. Raises like `forward`."""
    codec, version = apis.codec(key), apis.APIS[key].versions[-1]
    if (limits := ctx.broker.access.forwarded_versions.get(key)) is not None:
        version = min(version, limits[1])
    frame = bytearray()
    header = RequestHeader(api_key=key, api_version=version, correlation_id=0, client_id=ctx.client_id)
    encode_request_header(frame, header)
    codec.encode_request_into(frame, request, version)
    response = await forward(ctx.broker, bytes(frame), ctx.peer)
    _, position = decode_response_header(response, key, version)
    return codec.decode_response(response, version, position)


def _packed(host: str) -> bytes:
    """An address in Java's encoding; empty if unknown."""
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        return b""
