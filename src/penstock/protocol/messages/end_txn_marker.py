"""EndTxnMarker.

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

_PACKED_i: Final = struct.Struct(">i")


class EndTxnMarker(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    coordinator_epoch: int = 0


def _read_end_txn_marker_v0(buf: Buffer, pos: int) -> tuple[EndTxnMarker, int]:
    coordinator_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return EndTxnMarker(coordinator_epoch=coordinator_epoch), pos


def _write_end_txn_marker_v0(out: bytearray, message: EndTxnMarker) -> None:
    out += _PACKED_i.pack(message.coordinator_epoch)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[EndTxnMarker, int]], ...]] = (
    _read_end_txn_marker_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, EndTxnMarker], None], ...]] = (
    _write_end_txn_marker_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> EndTxnMarker:
    if not 0 <= version <= 0:
        raise unsupported_version("EndTxnMarker", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("EndTxnMarker is cut short") from error


def encode_into(out: bytearray, message: EndTxnMarker, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("EndTxnMarker", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"EndTxnMarker holds a value out of range: {error}") from error


def encode(message: EndTxnMarker, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
