"""KRaftVersionRecord.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    skip_tagged_fields,
    unsupported_version,
)

VERSIONS: Final = range(0, 1)

_PACKED_hh: Final = struct.Struct(">hh")


class KRaftVersionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    version: int = 0
    kraft_version: int = 0


def _read_kraft_version_record_v0(buf: Buffer, pos: int) -> tuple[KRaftVersionRecord, int]:
    version, kraft_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return KRaftVersionRecord(version=version, kraft_version=kraft_version), pos


def _write_kraft_version_record_v0(out: bytearray, message: KRaftVersionRecord) -> None:
    out += _PACKED_hh.pack(message.version, message.kraft_version)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[KRaftVersionRecord, int]], ...]] = (
    _read_kraft_version_record_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, KRaftVersionRecord], None], ...]] = (
    _write_kraft_version_record_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> KRaftVersionRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("KRaftVersionRecord", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("KRaftVersionRecord is cut short") from error


def encode_into(out: bytearray, message: KRaftVersionRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("KRaftVersionRecord", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"KRaftVersionRecord holds a value out of range: {error}") from error


def encode(message: KRaftVersionRecord, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
