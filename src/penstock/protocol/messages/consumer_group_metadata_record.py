"""ConsumerGroupMetadataKey and ConsumerGroupMetadataValue.

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
    read_tag,
    read_uvarint,
    unsupported_version,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 3
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_q: Final = struct.Struct(">q")


class ConsumerGroupMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class ConsumerGroupMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    metadata_hash: int = 0


def _read_consumer_group_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupMetadataKey(group_id=group_id), pos


def _write_consumer_group_metadata_key_v0(out: bytearray, message: ConsumerGroupMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupMetadataKey, int]], ...]] = (
    _read_consumer_group_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupMetadataKey], None], ...]] = (
    _write_consumer_group_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_consumer_group_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupMetadataValue, int]:
    epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    metadata_hash: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                metadata_hash = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ConsumerGroupMetadataValue", tag)
    return ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash), pos


def _write_consumer_group_metadata_value_v0(out: bytearray, message: ConsumerGroupMetadataValue) -> None:
    out += _PACKED_i.pack(message.epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.metadata_hash != 0:
        value = bytearray()
        value += _PACKED_q.pack(message.metadata_hash)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupMetadataValue, int]], ...]] = (
    _read_consumer_group_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupMetadataValue], None], ...]] = (
    _write_consumer_group_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
