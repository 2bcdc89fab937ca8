"""StreamsGroupMemberMetadataKey and StreamsGroupMemberMetadataValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
)

RECORD_TYPE: Final = 19
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_H: Final = struct.Struct(">H")
_PACKED_ii: Final = struct.Struct(">ii")


class StreamsGroupMemberMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    host: str = ""
    port: int = 0


class KeyValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    key: str = ""
    value: str = ""


class StreamsGroupMemberMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = []


def _read_streams_group_member_metadata_key_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupMemberMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id), pos


def _write_streams_group_member_metadata_key_v0(out: bytearray, message: StreamsGroupMemberMetadataKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupMemberMetadataKey, int]], ...]] = (
    _read_streams_group_member_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupMemberMetadataKey], None], ...]] = (
    _write_streams_group_member_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupMemberMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMemberMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupMemberMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: StreamsGroupMemberMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMemberMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupMemberMetadataKey holds a value out of range: {error}") from error


def encode_key(message: StreamsGroupMemberMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_endpoint_v0(buf: Buffer, pos: int) -> tuple[Endpoint, int]:
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Endpoint(host=host, port=port), pos


def _write_endpoint_v0(out: bytearray, message: Endpoint) -> None:
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_key_value_v0(buf: Buffer, pos: int) -> tuple[KeyValue, int]:
    key, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return KeyValue(key=key, value=value_), pos


def _write_key_value_v0(out: bytearray, message: KeyValue) -> None:
    write_compact_string(out, message.key)
    write_compact_string(out, message.value)
    out.append(0)


def _read_streams_group_member_metadata_value_v0(buf: Buffer, pos: int) -> tuple[StreamsGroupMemberMetadataValue, int]:
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    rebalance_timeout_ms, topology_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    process_id, pos = read_compact_string(buf, pos)
    user_endpoint: Endpoint | None = None
    pos += 1
    if buf[pos - 1] < 0x80:
        user_endpoint, pos = _read_endpoint_v0(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 3)
    client_tags: list[KeyValue] = []
    for _ in range(count):
        client_tags_item, pos = _read_key_value_v0(buf, pos)
        client_tags.append(client_tags_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StreamsGroupMemberMetadataValue(
        instance_id=instance_id,
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=rebalance_timeout_ms,
        topology_epoch=topology_epoch,
        process_id=process_id,
        user_endpoint=user_endpoint,
        client_tags=client_tags,
    )
    return value, pos


def _write_streams_group_member_metadata_value_v0(out: bytearray, message: StreamsGroupMemberMetadataValue) -> None:
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    out += _PACKED_ii.pack(message.rebalance_timeout_ms, message.topology_epoch)
    write_compact_string(out, message.process_id)
    if message.user_endpoint is None:
        out.append(0xFF)
    else:
        out.append(1)
        _write_endpoint_v0(out, message.user_endpoint)
    client_tags = message.client_tags
    write_compact_array_length(out, len(client_tags))
    for client_tags_item in client_tags:
        _write_key_value_v0(out, client_tags_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[StreamsGroupMemberMetadataValue, int]], ...]] = (
    _read_streams_group_member_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, StreamsGroupMemberMetadataValue], None], ...]] = (
    _write_streams_group_member_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> StreamsGroupMemberMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMemberMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("StreamsGroupMemberMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: StreamsGroupMemberMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("StreamsGroupMemberMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"StreamsGroupMemberMetadataValue holds a value out of range: {error}") from error


def encode_value(message: StreamsGroupMemberMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
