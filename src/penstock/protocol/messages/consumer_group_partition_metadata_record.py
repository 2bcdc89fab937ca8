"""ConsumerGroupPartitionMetadataKey and ConsumerGroupPartitionMetadataValue.

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
    read_compact_strings,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
    write_compact_strings,
    write_string,
)

RECORD_TYPE: Final = 4
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_u: Final = struct.Struct(">16s")


class ConsumerGroupPartitionMetadataKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""


class PartitionMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition: int = 0
    racks: list[str] = []


class TopicMetadata(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    topic_name: str = ""
    num_partitions: int = 0
    partition_metadata: list[PartitionMetadata] = []


class ConsumerGroupPartitionMetadataValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[TopicMetadata] = []


def _read_consumer_group_partition_metadata_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupPartitionMetadataKey, int]:
    group_id, pos = read_string(buf, pos)
    return ConsumerGroupPartitionMetadataKey(group_id=group_id), pos


def _write_consumer_group_partition_metadata_key_v0(out: bytearray, message: ConsumerGroupPartitionMetadataKey) -> None:
    write_string(out, message.group_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupPartitionMetadataKey, int]], ...]] = (
    _read_consumer_group_partition_metadata_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupPartitionMetadataKey], None], ...]] = (
    _write_consumer_group_partition_metadata_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupPartitionMetadataKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupPartitionMetadataKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupPartitionMetadataKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupPartitionMetadataKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupPartitionMetadataKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupPartitionMetadataKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupPartitionMetadataKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_partition_metadata_v0(buf: Buffer, pos: int) -> tuple[PartitionMetadata, int]:
    partition = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 1)
    racks, pos = read_compact_strings(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return PartitionMetadata(partition=partition, racks=racks), pos


def _write_partition_metadata_v0(out: bytearray, message: PartitionMetadata) -> None:
    out += _PACKED_i.pack(message.partition)
    racks = message.racks
    write_compact_array_length(out, len(racks))
    write_compact_strings(out, racks)
    out.append(0)


def _read_topic_metadata_v0(buf: Buffer, pos: int) -> tuple[TopicMetadata, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    topic_name, pos = read_compact_string(buf, pos)
    num_partitions = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 6)
    partition_metadata: list[PartitionMetadata] = []
    for _ in range(count):
        partition_metadata_item, pos = _read_partition_metadata_v0(buf, pos)
        partition_metadata.append(partition_metadata_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = TopicMetadata(
        topic_id=topic_id,
        topic_name=topic_name,
        num_partitions=num_partitions,
        partition_metadata=partition_metadata,
    )
    return value, pos


def _write_topic_metadata_v0(out: bytearray, message: TopicMetadata) -> None:
    out += _PACKED_u.pack(message.topic_id)
    write_compact_string(out, message.topic_name)
    out += _PACKED_i.pack(message.num_partitions)
    partition_metadata = message.partition_metadata
    write_compact_array_length(out, len(partition_metadata))
    for partition_metadata_item in partition_metadata:
        _write_partition_metadata_v0(out, partition_metadata_item)
    out.append(0)


def _read_consumer_group_partition_metadata_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupPartitionMetadataValue, int]:
    count, pos = read_compact_array_length(buf, pos, 23)
    topics: list[TopicMetadata] = []
    for _ in range(count):
        topics_item, pos = _read_topic_metadata_v0(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ConsumerGroupPartitionMetadataValue(topics=topics), pos


def _write_consumer_group_partition_metadata_value_v0(out: bytearray, message: ConsumerGroupPartitionMetadataValue) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_topic_metadata_v0(out, topics_item)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupPartitionMetadataValue, int]], ...]] = (
    _read_consumer_group_partition_metadata_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupPartitionMetadataValue], None], ...]] = (
    _write_consumer_group_partition_metadata_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupPartitionMetadataValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupPartitionMetadataValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupPartitionMetadataValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupPartitionMetadataValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupPartitionMetadataValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupPartitionMetadataValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupPartitionMetadataValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
