"""ShareGroupMetadataKey and ShareGroupMetadataValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_string,
)

RECORD_TYPE: Final = 11
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_iq: Final = struct.Struct(">iq")


class ShareGroupMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class ShareGroupMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    metadata_hash: int = 0


def _read_share_group_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ShareGroupMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ShareGroupMetadataKey(group_id=group_id), pos


def _write_share_group_metadata_key_v0(out: bytearray, message: ShareGroupMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupMetadataKey, int]], ...]] = (
    _read_share_group_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupMetadataKey], None], ...]] = (
    _write_share_group_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareGroupMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareGroupMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ShareGroupMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_share_group_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ShareGroupMetadataValue, int]:
    epoch, metadata_hash = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash), pos


def _write_share_group_metadata_value_v0(out: bytearray, message: ShareGroupMetadataValue) -> None:
    out += _PACKED_iq.pack(message.epoch, message.metadata_hash)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupMetadataValue, int]], ...]] = (
    _read_share_group_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupMetadataValue], None], ...]] = (
    _write_share_group_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareGroupMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareGroupMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ShareGroupMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
