"""ConsumerGroupMemberMetadataKey and ConsumerGroupMemberMetadataValue.

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
    read_compact_bytes,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 5
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")


class ConsumerGroupMemberMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    member_id: str = ""


class ClassicProtocol(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    metadata: bytes = b""


class ClassicMemberMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    session_timeout_ms: int = 0
    supported_protocols: list[ClassicProtocol] = []


class ConsumerGroupMemberMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = ""
    classic_member_metadata: ClassicMemberMetadata | None = None


def _read_consumer_group_member_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupMemberMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    member_id, pos = read_string(buf, pos)
    return ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), pos


def _write_consumer_group_member_metadata_key_v0(out: bytearray, message: ConsumerGroupMemberMetadataKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.member_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupMemberMetadataKey, int]], ...]] = (
    _read_consumer_group_member_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupMemberMetadataKey], None], ...]] = (
    _write_consumer_group_member_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupMemberMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMemberMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupMemberMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupMemberMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMemberMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupMemberMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupMemberMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_classic_protocol_v0(buf: Buffer, pos: int) -> tuple[ClassicProtocol, int]:
    name, pos = read_compact_string(buf, pos)
    metadata, pos = read_compact_bytes(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ClassicProtocol(name=name, metadata=metadata), pos


def _write_classic_protocol_v0(out: bytearray, message: ClassicProtocol) -> None:
    write_compact_string(out, message.name)
    write_compact_bytes(out, message.metadata)
    out.append(0)


def _read_classic_member_metadata_v0(buf: Buffer, pos: int) -> tuple[ClassicMemberMetadata, int]:
    session_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 3)
    supported_protocols: list[ClassicProtocol] = []
    for _ in range(count):
        supported_protocols_item, pos = _read_classic_protocol_v0(buf, pos)
        supported_protocols.append(supported_protocols_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ClassicMemberMetadata(
        session_timeout_ms=session_timeout_ms,
        supported_protocols=supported_protocols,
    )
    return value, pos


def _write_classic_member_metadata_v0(out: bytearray, message: ClassicMemberMetadata) -> None:
    out += _PACKED_i.pack(message.session_timeout_ms)
    supported_protocols = message.supported_protocols
    write_compact_array_length(out, len(supported_protocols))
    for supported_protocols_item in supported_protocols:
        _write_classic_protocol_v0(out, supported_protocols_item)
    out.append(0)


def _read_consumer_group_member_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupMemberMetadataValue, int]:
    instance_id, pos = read_compact_nullable_string(buf, pos)
    rack_id, pos = read_compact_nullable_string(buf, pos)
    client_id, pos = read_compact_string(buf, pos)
    client_host, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 1)
    subscribed_topic_names, pos = read_compact_strings(buf, pos, count)
    subscribed_topic_regex, pos = read_compact_nullable_string(buf, pos)
    rebalance_timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    server_assignor, pos = read_compact_nullable_string(buf, pos)
    classic_member_metadata: ClassicMemberMetadata | None = None
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                classic_member_metadata = None
                pos += 1
                if buf[pos - 1] != 0:
                    classic_member_metadata, pos = _read_classic_member_metadata_v0(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ConsumerGroupMemberMetadataValue", tag)
    value = ConsumerGroupMemberMetadataValue(
        instance_id=instance_id,
        rack_id=rack_id,
        client_id=client_id,
        client_host=client_host,
        subscribed_topic_names=subscribed_topic_names,
        subscribed_topic_regex=subscribed_topic_regex,
        rebalance_timeout_ms=rebalance_timeout_ms,
        server_assignor=server_assignor,
        classic_member_metadata=classic_member_metadata,
    )
    return value, pos


def _write_consumer_group_member_metadata_value_v0(out: bytearray, message: ConsumerGroupMemberMetadataValue) -> None:
    write_compact_nullable_string(out, message.instance_id)
    write_compact_nullable_string(out, message.rack_id)
    write_compact_string(out, message.client_id)
    write_compact_string(out, message.client_host)
    subscribed_topic_names = message.subscribed_topic_names
    write_compact_array_length(out, len(subscribed_topic_names))
    write_compact_strings(out, subscribed_topic_names)
    write_compact_nullable_string(out, message.subscribed_topic_regex)
    out += _PACKED_i.pack(message.rebalance_timeout_ms)
    write_compact_nullable_string(out, message.server_assignor)
    tagged: list[tuple[int, bytearray]] = []
    if message.classic_member_metadata is not None:
        value = bytearray()
        value.append(1)
        _write_classic_member_metadata_v0(value, message.classic_member_metadata)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupMemberMetadataValue, int]], ...]] = (
    _read_consumer_group_member_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupMemberMetadataValue], None], ...]] = (
    _write_consumer_group_member_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupMemberMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMemberMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupMemberMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupMemberMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupMemberMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupMemberMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupMemberMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
