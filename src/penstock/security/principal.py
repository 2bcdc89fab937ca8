"""The authenticated user of a connection: `User:alice`.

The serialized form is what an Envelope request carries to the controller (KIP-590): an int16 version, then Kafka's
DefaultPrincipalData: type and name as compact strings, whether a delegation token proved it, tagged fields.
"""

import struct

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import read_compact_string, skip_tagged_fields, write_compact_string

_VERSION = struct.Struct(">h")
_NO_TOKEN_NO_TAGS = b"\x00\x00"


class Principal(msgspec.Struct, frozen=True):
    name: str
    type: str = "User"

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")
"""The principal of clients on a listener without authentication."""


def encode_principal(principal: Principal) -> bytes:
    out = bytearray(_VERSION.pack(0))
    write_compact_string(out, principal.type)
    write_compact_string(out, principal.name)
    out += _NO_TOKEN_NO_TAGS
    return bytes(out)


def decode_principal(data: bytes) -> Principal:
    """Raises `ProtocolError` when it is not a principal."""
    if len(data) < _VERSION.size or _VERSION.unpack_from(data)[0] != 0:
        raise ProtocolError("the principal of an envelope has an unknown format")
    kind, position = read_compact_string(data, _VERSION.size)
    name, position = read_compact_string(data, position)
    skip_tagged_fields(data, position + 1)
    return Principal(name, kind)
