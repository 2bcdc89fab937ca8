"""LegacyOffsetCommitKey and LegacyOffsetCommitValue.

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
    unsupported_version,
    write_string,
)

RECORD_TYPE: Final = 0
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_q: Final = struct.Struct(">q")


class LegacyOffsetCommitKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group: str = ""
    topic: str = ""
    partition: int = 0


class LegacyOffsetCommitValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    offset: int = 0
    metadata: str = ""
    commit_timestamp: int = 0


def _read_legacy_offset_commit_key_v0(buf: Buffer, pos: int) -> tuple[LegacyOffsetCommitKey, int]:
    group, pos = read_string(buf, pos)
    topic, pos = read_string(buf, pos)
    partition = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return LegacyOffsetCommitKey(group=group, topic=topic, partition=partition), pos


def _write_legacy_offset_commit_key_v0(out: bytearray, message: LegacyOffsetCommitKey) -> None:
    write_string(out, message.group)
    write_string(out, message.topic)
    out += _PACKED_i.pack(message.partition)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[LegacyOffsetCommitKey, int]], ...]] = (
    _read_legacy_offset_commit_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, LegacyOffsetCommitKey], None], ...]] = (
    _write_legacy_offset_commit_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> LegacyOffsetCommitKey:
    if not 0 <= version <= 0:
        raise unsupported_version("LegacyOffsetCommitKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("LegacyOffsetCommitKey is cut short") from error


def encode_key_into(out: bytearray, message: LegacyOffsetCommitKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("LegacyOffsetCommitKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"LegacyOffsetCommitKey holds a value out of range: {error}") from error


def encode_key(message: LegacyOffsetCommitKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_legacy_offset_commit_value_v0(buf: Buffer, pos: int) -> tuple[LegacyOffsetCommitValue, int]:
    offset = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    metadata, pos = read_string(buf, pos)
    commit_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    value = LegacyOffsetCommitValue(
        offset=offset,
        metadata=metadata,
        commit_timestamp=commit_timestamp,
    )
    return value, pos


def _write_legacy_offset_commit_value_v0(out: bytearray, message: LegacyOffsetCommitValue) -> None:
    out += _PACKED_q.pack(message.offset)
    write_string(out, message.metadata)
    out += _PACKED_q.pack(message.commit_timestamp)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[LegacyOffsetCommitValue, int]], ...]] = (
    _read_legacy_offset_commit_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, LegacyOffsetCommitValue], None], ...]] = (
    _write_legacy_offset_commit_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> LegacyOffsetCommitValue:
    if not 0 <= version <= 0:
        raise unsupported_version("LegacyOffsetCommitValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("LegacyOffsetCommitValue is cut short") from error


def encode_value_into(out: bytearray, message: LegacyOffsetCommitValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("LegacyOffsetCommitValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"LegacyOffsetCommitValue holds a value out of range: {error}") from error


def encode_value(message: LegacyOffsetCommitValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
