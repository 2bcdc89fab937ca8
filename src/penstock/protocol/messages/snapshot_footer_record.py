"""SnapshotFooterRecord.

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

_PACKED_h: Final = struct.Struct(">h")


class SnapshotFooterRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    version: int = 0


def _read_snapshot_footer_record_v0(buf: Buffer, pos: int) -> tuple[SnapshotFooterRecord, int]:
    version = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return SnapshotFooterRecord(version=version), pos


def _write_snapshot_footer_record_v0(out: bytearray, message: SnapshotFooterRecord) -> None:
    out += _PACKED_h.pack(message.version)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[SnapshotFooterRecord, int]], ...]] = (
    _read_snapshot_footer_record_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, SnapshotFooterRecord], None], ...]] = (
    _write_snapshot_footer_record_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> SnapshotFooterRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("SnapshotFooterRecord", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SnapshotFooterRecord is cut short") from error


def encode_into(out: bytearray, message: SnapshotFooterRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("SnapshotFooterRecord", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SnapshotFooterRecord holds a value out of range: {error}") from error


def encode(message: SnapshotFooterRecord, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
