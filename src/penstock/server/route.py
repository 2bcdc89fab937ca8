"""One API, ready to serve: its handler, its codec and what is counted of it.

The table of handlers is `handlers.HANDLERS`; a handler module and its message codec are imported when the first
such request comes, so that a broker starts quickly.
"""

import importlib
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.protocol import apis, produce_frame
from penstock.protocol.fetch_frame import encode_fetch_response
from penstock.protocol.headers import encode_response_frame, encode_response_header
from penstock.protocol.share_fetch_frame import encode_share_fetch_response
from penstock.server.broker_apis import BROKER_APIS
from penstock.server.connection_host import Answer, Buffer
from penstock.server.context import RequestContext
from penstock.server.handlers import HANDLERS
from penstock.server.metrics.requests import RequestCounts

PRODUCE = 0

_SIZE = struct.Struct(">i")
_WITHOUT_COPY: dict[int, Callable[[Any, int], list[Buffer]]] = {
    1: encode_fetch_response,
    78: encode_share_fetch_response,
}
"""APIs whose answers have records in them."""


class Route:
    __slots__ = (
        "counts",
        "decode",
        "encode",
        "for_brokers",
        "handle",
        "is_early",
        "is_exclusive",
        "is_forwarded",
        "is_internal",
        "is_own",
        "key",
        "name",
        "response_type",
        "versions",
    )

    def __init__(self, key: int, requests: RequestCounts) -> None:
        codec = apis.codec(key)
        self.key = key
        self.name = apis.APIS[key].name
        self.counts = requests.of(self.name)
        self.versions = HANDLERS[key].versions
        self.is_exclusive = HANDLERS[key].is_exclusive
        self.is_forwarded = HANDLERS[key].is_forwarded
        self.is_early = HANDLERS[key].is_early
        self.is_internal = HANDLERS[key].is_internal
        self.for_brokers = BROKER_APIS.get(key)
        self.response_type: type[Any] = getattr(codec, f"{self.name}Response")
        self.decode: Callable[[memoryview, int, int], Any] = (
            produce_frame.decode_request if key == PRODUCE else codec.decode_request
        )
        self.encode: Callable[[Any, int, int], Answer] = _encoder(key, codec)
        handler = importlib.import_module(f"penstock.server.handlers.{HANDLERS[key].module}")
        self.handle: Callable[[RequestContext, Any], Any] = handler.handle
        # Of an API that is forwarded: which requests are for the broker that gets them all the same.
        self.is_own: Callable[[Any], bool] | None = getattr(handler, "is_own", None)


def _encoder(key: int, codec: Any) -> Callable[[Any, int, int], Answer]:
    """What makes the frame of a response to a request of a version, with its correlation id."""
    if key == PRODUCE:
        return produce_frame.encode_response
    encode_buffers = _WITHOUT_COPY.get(key)
    if encode_buffers is not None:
        return partial(_encode_without_copy, key, encode_buffers)
    return partial(encode_response_frame, key, codec.encode_response_into)


def _encode_without_copy(
    key: int,
    encode_buffers: Callable[[Any, int], list[Buffer]],
    response: Any,
    version: int,
    correlation_id: int,
) -> Answer:
    out = bytearray(_SIZE.size)
    encode_response_header(out, key, version, correlation_id)
    buffers = encode_buffers(response, version)
    _SIZE.pack_into(out, 0, len(out) - _SIZE.size + sum(map(len, buffers)))
    return [out, *buffers]
