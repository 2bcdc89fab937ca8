"""DefaultPrincipalData.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_string,
)

VERSIONS: Final = range(0, 1)

_PACKED_o: Final = struct.Struct(">?")


class DefaultPrincipalData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    type: str = ""
    name: str = ""
    token_authenticated: bool = False


def _read_default_principal_data_v0(buf: Buffer, pos: int) -> tuple[DefaultPrincipalData, int]:
    type, pos = read_compact_string(buf, pos)
    name, pos = read_compact_string(buf, pos)
    token_authenticated = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DefaultPrincipalData(type=type, name=name, token_authenticated=token_authenticated), pos


def _write_default_principal_data_v0(out: bytearray, message: DefaultPrincipalData) -> None:
    write_compact_string(out, message.type)
    write_compact_string(out, message.name)
    out += _PACKED_o.pack(message.token_authenticated)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[DefaultPrincipalData, int]], ...]] = (
    _read_default_principal_data_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, DefaultPrincipalData], None], ...]] = (
    _write_default_principal_data_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> DefaultPrincipalData:
    if not 0 <= version <= 0:
        raise unsupported_version("DefaultPrincipalData", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DefaultPrincipalData is cut short") from error


def encode_into(out: bytearray, message: DefaultPrincipalData, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DefaultPrincipalData", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DefaultPrincipalData holds a value out of range: {error}") from error


def encode(message: DefaultPrincipalData, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
