"""ShareGroupMemberMetadataKey and ShareGroupMemberMetadataValue.

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
    read_compact_strings,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_string,
)

RECORD_TYPE: Final = 10
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)


class ShareGroupMemberMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class ShareGroupMemberMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []


def _read_share_group_member_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ShareGroupMemberMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), pos


def _write_share_group_member_metadata_key_v0(out: bytearray, message: ShareGroupMemberMetadataKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupMemberMetadataKey, int]], ...]] = (
    _read_share_group_member_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupMemberMetadataKey], None], ...]] = (
    _write_share_group_member_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareGroupMemberMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMemberMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupMemberMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareGroupMemberMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMemberMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupMemberMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ShareGroupMemberMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_share_group_member_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ShareGroupMemberMetadataValue, int]:
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareGroupMemberMetadataValue(
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        subscribed_topic_names=subscribed_topic_names,
    )
    return value, pos


def _write_share_group_member_metadata_value_v0(out: bytearray, message: ShareGroupMemberMetadataValue) -> None:
    write_compact_nullable_string(out, message.rack_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_compact_array_length(out, len(subscribed_topic_names))
    write_compact_strings(out, subscribed_topic_names)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupMemberMetadataValue, int]], ...]] = (
    _read_share_group_member_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupMemberMetadataValue], None], ...]] = (
    _write_share_group_member_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareGroupMemberMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMemberMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupMemberMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareGroupMemberMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupMemberMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupMemberMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ShareGroupMemberMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
