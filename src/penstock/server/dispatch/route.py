"""One API, ready to serve: its handler, codec and metrics.

The table of handlers is `handlers.HANDLERS`; a handler module and its message codec are imported when the first
such request comes, so that a broker starts quickly.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.protocol import apis, produce_frame
from penstock.protocol.headers import encode_response_buffers, encode_response_frame
from penstock.server.broker_apis import BROKER_APIS
from penstock.server.connections import Answer
from penstock.server.context import RequestContext
from penstock.server.handlers import CONTROLLER_APIS, HANDLERS
from penstock.server.request_metrics import RequestCounts

PRODUCE = 0

_WITH_RECORDS = (1, 78)
"""Fetch and ShareFetch, whose responses hold records."""


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
        "is_of_controllers",
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
        self.is_exclusive = HANDLERS[key].is_exclusive
        self.is_forwarded = HANDLERS[key].is_forwarded
        self.is_early = HANDLERS[key].is_early
        self.is_internal = HANDLERS[key].is_internal
        self.is_of_controllers = key in CONTROLLER_APIS
        self.for_brokers = BROKER_APIS.get(key)
        self.response_type: type[Any] = getattr(codec, f"{self.name}Response")
        self.decode: Callable[[memoryview, int, int], Any] = (
            produce_frame.decode_request if key == PRODUCE else codec.decode_request
        )
        self.encode: Callable[[Any, int, int], Answer] = _encoder(key, codec)
        handler = importlib.import_module(f"penstock.server.handlers.{HANDLERS[key].module}")
        self.versions: range = handler.VERSIONS
        self.handle: Callable[[RequestContext, Any], Any] = handler.handle
        # For an API that is forwarded: selects the requests that the receiving broker handles itself.
        self.is_own: Callable[[Any], bool] | None = getattr(handler, "is_own", None)


def _encoder(key: int, codec: Any) -> Callable[[Any, int, int], Answer]:
    """The function that encodes a response frame, for a request's version and correlation id."""
    if key == PRODUCE:
        return produce_frame.encode_response
    encode = encode_response_buffers if key in _WITH_RECORDS else encode_response_frame
    return partial(encode, key, codec.encode_response_into)
