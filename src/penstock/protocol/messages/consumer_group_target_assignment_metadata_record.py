"""ConsumerGroupTargetAssignmentMetadataKey and ConsumerGroupTargetAssignmentMetadataValue.

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

RECORD_TYPE: Final = 6
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_q: Final = struct.Struct(">q")


class ConsumerGroupTargetAssignmentMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class ConsumerGroupTargetAssignmentMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    assignment_epoch: int = 0
    assignment_timestamp: int = 0


def _read_consumer_group_target_assignment_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupTargetAssignmentMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), pos


def _write_consumer_group_target_assignment_metadata_key_v0(out: bytearray, message: ConsumerGroupTargetAssignmentMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupTargetAssignmentMetadataKey, int]], ...]] = (
    _read_consumer_group_target_assignment_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupTargetAssignmentMetadataKey], None], ...]] = (
    _write_consumer_group_target_assignment_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupTargetAssignmentMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupTargetAssignmentMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupTargetAssignmentMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupTargetAssignmentMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupTargetAssignmentMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_consumer_group_target_assignment_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupTargetAssignmentMetadataValue, int]:
    assignment_epoch = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    assignment_timestamp: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                assignment_timestamp = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ConsumerGroupTargetAssignmentMetadataValue", tag)
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=assignment_epoch,
        assignment_timestamp=assignment_timestamp,
    )
    return value, pos


def _write_consumer_group_target_assignment_metadata_value_v0(out: bytearray, message: ConsumerGroupTargetAssignmentMetadataValue) -> None:
    out += _PACKED_i.pack(message.assignment_epoch)
    tagged: list[tuple[int, bytearray]] = []
    if message.assignment_timestamp != 0:
        value = bytearray()
        value += _PACKED_q.pack(message.assignment_timestamp)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupTargetAssignmentMetadataValue, int]], ...]] = (
    _read_consumer_group_target_assignment_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupTargetAssignmentMetadataValue], None], ...]] = (
    _write_consumer_group_target_assignment_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupTargetAssignmentMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupTargetAssignmentMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupTargetAssignmentMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupTargetAssignmentMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupTargetAssignmentMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupTargetAssignmentMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
