"""SnapshotHeaderRecord.

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

_PACKED_hq: Final = struct.Struct(">hq")


class SnapshotHeaderRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    version: int = 0
    last_contained_log_timestamp: int = 0


def _read_snapshot_header_record_v0(buf: Buffer, pos: int) -> tuple[SnapshotHeaderRecord, int]:
    version, last_contained_log_timestamp = _PACKED_hq.unpack_from(buf, pos)
    pos += 10
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = SnapshotHeaderRecord(
        version=version,
        last_contained_log_timestamp=last_contained_log_timestamp,
    )
    return value, pos


def _write_snapshot_header_record_v0(out: bytearray, message: SnapshotHeaderRecord) -> None:
    out += _PACKED_hq.pack(message.version, message.last_contained_log_timestamp)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[SnapshotHeaderRecord, int]], ...]] = (
    _read_snapshot_header_record_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, SnapshotHeaderRecord], None], ...]] = (
    _write_snapshot_header_record_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> SnapshotHeaderRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("SnapshotHeaderRecord", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("SnapshotHeaderRecord is cut short") from error


def encode_into(out: bytearray, message: SnapshotHeaderRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("SnapshotHeaderRecord", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"SnapshotHeaderRecord holds a value out of range: {error}") from error


def encode(message: SnapshotHeaderRecord, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
