"""OffsetCommitKey and OffsetCommitValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    ZERO_UUID,
    read_compact_string,
    read_string,
    read_tag,
    read_uvarint,
    unsupported_version,
    write_compact_string,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 1
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 5)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qi: Final = struct.Struct(">qi")
_PACKED_qq: Final = struct.Struct(">qq")
_PACKED_u: Final = struct.Struct(">16s")


class OffsetCommitKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group: str = ""
    topic: str = ""
    partition: int = 0


class OffsetCommitValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    offset: int = 0
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp: int = 0
    expire_timestamp: int = -1
    topic_id: bytes = ZERO_UUID


def _read_offset_commit_key_v0(buf: Buffer, pos: int) -> tuple[OffsetCommitKey, int]:
    group, pos = read_string(buf, pos)
    topic, pos = read_string(buf, pos)
    partition = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return OffsetCommitKey(group=group, topic=topic, partition=partition), pos


def _write_offset_commit_key_v0(out: bytearray, message: OffsetCommitKey) -> None:
    write_string(out, message.group)
    write_string(out, message.topic)
    out += _PACKED_i.pack(message.partition)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetCommitKey, int]], ...]] = (
    _read_offset_commit_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, OffsetCommitKey], None], ...]] = (
    _write_offset_commit_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> OffsetCommitKey:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetCommitKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetCommitKey is cut short") from error


def encode_key_into(out: bytearray, message: OffsetCommitKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("OffsetCommitKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetCommitKey holds a value out of range: {error}") from error


def encode_key(message: OffsetCommitKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_offset_commit_value_v0(buf: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    offset = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    metadata, pos = read_string(buf, pos)
    commit_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    return OffsetCommitValue(offset=offset, metadata=metadata, commit_timestamp=commit_timestamp), pos


def _write_offset_commit_value_v0(out: bytearray, message: OffsetCommitValue) -> None:
    out += _PACKED_q.pack(message.offset)
    write_string(out, message.metadata)
    out += _PACKED_q.pack(message.commit_timestamp)


def _read_offset_commit_value_v1(buf: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    offset = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    metadata, pos = read_string(buf, pos)
    commit_timestamp, expire_timestamp = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    value = OffsetCommitValue(
        offset=offset,
        metadata=metadata,
        commit_timestamp=commit_timestamp,
        expire_timestamp=expire_timestamp,
    )
    return value, pos


def _write_offset_commit_value_v1(out: bytearray, message: OffsetCommitValue) -> None:
    out += _PACKED_q.pack(message.offset)
    write_string(out, message.metadata)
    out += _PACKED_qq.pack(message.commit_timestamp, message.expire_timestamp)


def _read_offset_commit_value_v3(buf: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    offset, leader_epoch = _PACKED_qi.unpack_from(buf, pos)
    pos += 12
    metadata, pos = read_string(buf, pos)
    commit_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    value = OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=commit_timestamp,
    )
    return value, pos


def _write_offset_commit_value_v3(out: bytearray, message: OffsetCommitValue) -> None:
    out += _PACKED_qi.pack(message.offset, message.leader_epoch)
    write_string(out, message.metadata)
    out += _PACKED_q.pack(message.commit_timestamp)


def _read_offset_commit_value_v4(buf: Buffer, pos: int) -> tuple[OffsetCommitValue, int]:
    offset, leader_epoch = _PACKED_qi.unpack_from(buf, pos)
    pos += 12
    metadata, pos = read_compact_string(buf, pos)
    commit_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
    pos += 8
    topic_id: bytes = ZERO_UUID
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                topic_id = _PACKED_u.unpack_from(buf, pos)[0]
                pos += 16
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("OffsetCommitValue", tag)
    value = OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata,
        commit_timestamp=commit_timestamp,
        topic_id=topic_id,
    )
    return value, pos


def _write_offset_commit_value_v4(out: bytearray, message: OffsetCommitValue) -> None:
    out += _PACKED_qi.pack(message.offset, message.leader_epoch)
    write_compact_string(out, message.metadata)
    out += _PACKED_q.pack(message.commit_timestamp)
    tagged: list[tuple[int, bytearray]] = []
    if message.topic_id != ZERO_UUID:
        value = bytearray()
        value += _PACKED_u.pack(message.topic_id)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[OffsetCommitValue, int]], ...]] = (
    _read_offset_commit_value_v0,
    _read_offset_commit_value_v1,
    _read_offset_commit_value_v0,
    _read_offset_commit_value_v3,
    _read_offset_commit_value_v4,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, OffsetCommitValue], None], ...]] = (
    _write_offset_commit_value_v0,
    _write_offset_commit_value_v1,
    _write_offset_commit_value_v0,
    _write_offset_commit_value_v3,
    _write_offset_commit_value_v4,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> OffsetCommitValue:
    if not 0 <= version <= 4:
        raise unsupported_version("OffsetCommitValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("OffsetCommitValue is cut short") from error


def encode_value_into(out: bytearray, message: OffsetCommitValue, version: int) -> None:
    if not 0 <= version <= 4:
        raise unsupported_version("OffsetCommitValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"OffsetCommitValue holds a value out of range: {error}") from error


def encode_value(message: OffsetCommitValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
