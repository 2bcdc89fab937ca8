"""The APIs of the protocol, and the codec of each, loaded on first use.

Importing this module loads no message: a broker that starts pays only for the APIs that its clients call.
"""

import importlib
from typing import Any, Final, NamedTuple, Protocol, cast

from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.api_table import ROWS
from penstock.protocol.wire import Buffer

API_VERSIONS_KEY: Final = 18


class ApiSpec(NamedTuple):
    """One API. `module` is its module's name in `penstock.protocol.messages`."""

    key: int
    name: str
    module: str
    versions: range
    flexible_from: int


class Codec(Protocol):
    """The interface of the modules in `messages`, one for each request and its response."""

    API_KEY: int
    VERSIONS: range
    FLEXIBLE_FROM: int

    def decode_request(self, buf: Buffer, version: int, pos: int = 0) -> Any: ...
    def encode_request(self, message: Any, version: int) -> bytes: ...
    def encode_request_into(self, out: bytearray, message: Any, version: int) -> None: ...
    def decode_response(self, buf: Buffer, version: int, pos: int = 0) -> Any: ...
    def encode_response(self, message: Any, version: int) -> bytes: ...
    def encode_response_into(self, out: bytearray, message: Any, version: int) -> None: ...


APIS: Final[dict[int, ApiSpec]] = {
    key: ApiSpec(key, name, module, range(first, last + 1), flexible_from)
    for key, name, module, first, last, flexible_from in ROWS
}

_codecs: Final[dict[int, Codec]] = {}


def codec(key: int) -> Codec:
    """The module that encodes and decodes the API with this key."""
    known = _codecs.get(key)
    if known is None:
        module = importlib.import_module(f"penstock.protocol.messages.{_spec(key).module}")
        known = _codecs[key] = cast("Codec", module)
    return known


def request_header_version(key: int, version: int) -> int:
    """2 when the request is flexible (its header then ends with tagged fields), else 1."""
    return 2 if version >= _spec(key).flexible_from else 1


def response_header_version(key: int, version: int) -> int:
    """1 when the response is flexible, else 0.

    An ApiVersions response always has header 0 (KIP-511): a client that used a version unknown to the broker must be
    able to read the response.
    """
    if key == API_VERSIONS_KEY:
        return 0
    return 1 if version >= _spec(key).flexible_from else 0


def _spec(key: int) -> ApiSpec:
    spec = APIS.get(key)
    if spec is None:
        raise ProtocolError(f"there is no API with key {key}")
    return spec
