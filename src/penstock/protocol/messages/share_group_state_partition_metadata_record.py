"""ShareGroupStatePartitionMetadataKey and ShareGroupStatePartitionMetadataValue.

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
    read_compact_array_length,
    read_compact_string,
    read_int32s,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
)

RECORD_TYPE: Final = 15
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_u: Final = struct.Struct(">16s")


class ShareGroupStatePartitionMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class TopicPartitionsInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    partitions: list[int] = []


class TopicInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""


class ShareGroupStatePartitionMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    initializing_topics: list[TopicPartitionsInfo] = []
    initialized_topics: list[TopicPartitionsInfo] = []
    deleting_topics: list[TopicInfo] = []


def _read_share_group_state_partition_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ShareGroupStatePartitionMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ShareGroupStatePartitionMetadataKey(group_id=group_id), pos


def _write_share_group_state_partition_metadata_key_v0(out: bytearray, message: ShareGroupStatePartitionMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupStatePartitionMetadataKey, int]], ...]] = (
    _read_share_group_state_partition_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupStatePartitionMetadataKey], None], ...]] = (
    _write_share_group_state_partition_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareGroupStatePartitionMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupStatePartitionMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupStatePartitionMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareGroupStatePartitionMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupStatePartitionMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupStatePartitionMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ShareGroupStatePartitionMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_topic_partitions_info_v0(buf: Buffer, pos: int) -> tuple[TopicPartitionsInfo, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    topic_name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicPartitionsInfo(topic_id=topic_id, topic_name=topic_name, partitions=partitions), pos


def _write_topic_partitions_info_v0(out: bytearray, message: TopicPartitionsInfo) -> None:
    out += _PACKED_u.pack(message.topic_id)
    write_compact_string(out, message.topic_name)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    write_int32s(out, partitions)
    out.append(0)


def _read_topic_info_v0(buf: Buffer, pos: int) -> tuple[TopicInfo, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    topic_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicInfo(topic_id=topic_id, topic_name=topic_name), pos


def _write_topic_info_v0(out: bytearray, message: TopicInfo) -> None:
    out += _PACKED_u.pack(message.topic_id)
    write_compact_string(out, message.topic_name)
    out.append(0)


def _read_share_group_state_partition_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ShareGroupStatePartitionMetadataValue, int]:
    count, pos = read_compact_array_length(buf, pos, 19)
    initializing_topics: list[TopicPartitionsInfo] = []
    for _ in range(count):
        initializing_topics_item, pos = _read_topic_partitions_info_v0(buf, pos)
        initializing_topics.append(initializing_topics_item)
    count, pos = read_compact_array_length(buf, pos, 19)
    initialized_topics: list[TopicPartitionsInfo] = []
    for _ in range(count):
        initialized_topics_item, pos = _read_topic_partitions_info_v0(buf, pos)
        initialized_topics.append(initialized_topics_item)
    count, pos = read_compact_array_length(buf, pos, 18)
    deleting_topics: list[TopicInfo] = []
    for _ in range(count):
        deleting_topics_item, pos = _read_topic_info_v0(buf, pos)
        deleting_topics.append(deleting_topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ShareGroupStatePartitionMetadataValue(
        initializing_topics=initializing_topics,
        initialized_topics=initialized_topics,
        deleting_topics=deleting_topics,
    )
    return value, pos


def _write_share_group_state_partition_metadata_value_v0(out: bytearray, message: ShareGroupStatePartitionMetadataValue) -> None:
    initializing_topics = message.initializing_topics
    write_compact_array_length(out, len(initializing_topics))
    for initializing_topics_item in initializing_topics:
        _write_topic_partitions_info_v0(out, initializing_topics_item)
    initialized_topics = message.initialized_topics
    write_compact_array_length(out, len(initialized_topics))
    for initialized_topics_item in initialized_topics:
        _write_topic_partitions_info_v0(out, initialized_topics_item)
    deleting_topics = message.deleting_topics
    write_compact_array_length(out, len(deleting_topics))
    for deleting_topics_item in deleting_topics:
        _write_topic_info_v0(out, deleting_topics_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareGroupStatePartitionMetadataValue, int]], ...]] = (
    _read_share_group_state_partition_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareGroupStatePartitionMetadataValue], None], ...]] = (
    _write_share_group_state_partition_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareGroupStatePartitionMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupStatePartitionMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareGroupStatePartitionMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareGroupStatePartitionMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareGroupStatePartitionMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareGroupStatePartitionMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ShareGroupStatePartitionMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
