"""StreamsGroupMetadataKey and StreamsGroupMetadataValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_nullable_array_length,
    read_compact_string,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 17
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_iq: Final = struct.Struct(">iq")


class StreamsGroupMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class LastAssignmentConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: str = ""


class StreamsGroupMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] | None = None


def _read_streams_group_metadata_key_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return StreamsGroupMetadataKey(group_id=group_id), pos


def _write_streams_group_metadata_key_v0(out: bytearray, message: StreamsGroupMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupMetadataKey, int]], ...]] = (
    _read_streams_group_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupMetadataKey], None], ...]] = (
    _write_streams_group_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: StreamsGroupMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupMetadataKey holds a value out of range: {error}") from error


def encode_key(message: StreamsGroupMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_last_assignment_config_v0(buf: Buffer, pos: int) -> tuple[LastAssignmentConfig, int]:
    key, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return LastAssignmentConfig(key=key, value=value_), pos


def _write_last_assignment_config_v0(out: bytearray, message: LastAssignmentConfig) -> None:
    write_compact_string(out, message.key)
    write_compact_string(out, message.value)
    out.append(0)


def _read_streams_group_metadata_value_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupMetadataValue, int]:
    epoch, metadata_hash = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                validated_topology_epoch = _PACKED_i.unpack_from(buf, pos)[0]
                pos += 4
            elif tag == 1:
                count, pos = read_compact_nullable_array_length(buf, pos, 3)
                last_assignment_configs = None
                if count >= 0:
                    last_assignment_configs = []
                    for _ in range(count):
                        last_assignment_configs_item, pos = _read_last_assignment_config_v0(buf, pos)
                        last_assignment_configs.append(last_assignment_configs_item)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("StreamsGroupMetadataValue", tag)
    value = StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=last_assignment_configs,
    )
    return value, pos


def _write_streams_group_metadata_value_v0(out: bytearray, message: StreamsGroupMetadataValue) -> None:
    out += _PACKED_iq.pack(message.epoch, message.metadata_hash)
    tagged: list[tuple[int, bytearray]] = []
    if message.validated_topology_epoch != -1:
        value = bytearray()
        value += _PACKED_i.pack(message.validated_topology_epoch)
        tagged.append((0, value))
    if message.last_assignment_configs is not None:
        value = bytearray()
        last_assignment_configs = message.last_assignment_configs
        write_compact_array_length(value, len(last_assignment_configs))
        for last_assignment_configs_item in last_assignment_configs:
            _write_last_assignment_config_v0(value, last_assignment_configs_item)
        tagged.append((1, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupMetadataValue, int]], ...]] = (
    _read_streams_group_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupMetadataValue], None], ...]] = (
    _write_streams_group_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: StreamsGroupMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupMetadataValue holds a value out of range: {error}") from error


def encode_value(message: StreamsGroupMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
