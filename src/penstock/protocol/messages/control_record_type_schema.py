"""ControlRecordTypeSchema.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    unsupported_version,
)

VERSIONS: Final = range(0, 1)

_PACKED_h: Final = struct.Struct(">h")


class ControlRecordTypeSchema(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    type: int = 0


def _read_control_record_type_schema_v0(buf: Buffer, pos: int) -> tuple[ControlRecordTypeSchema, int]:
    type = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return ControlRecordTypeSchema(type=type), pos


def _write_control_record_type_schema_v0(out: bytearray, message: ControlRecordTypeSchema) -> None:
    out += _PACKED_h.pack(message.type)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[ControlRecordTypeSchema, int]], ...]] = (
    _read_control_record_type_schema_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, ControlRecordTypeSchema], None], ...]] = (
    _write_control_record_type_schema_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> ControlRecordTypeSchema:
    if not 0 <= version <= 0:
        raise unsupported_version("ControlRecordTypeSchema", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ControlRecordTypeSchema is cut short") from error


def encode_into(out: bytearray, message: ControlRecordTypeSchema, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ControlRecordTypeSchema", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ControlRecordTypeSchema holds a value out of range: {error}") from error


def encode(message: ControlRecordTypeSchema, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
