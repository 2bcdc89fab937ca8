"""ConsumerProtocolSubscription.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_array_length,
    read_int32s,
    read_nullable_bytes,
    read_nullable_string,
    read_string,
    read_strings,
    unsupported_version,
    write_array_length,
    write_int32s,
    write_nullable_bytes,
    write_nullable_string,
    write_string,
    write_strings,
)

VERSIONS: Final = range(0, 4)

_PACKED_i: Final = struct.Struct(">i")


class TopicPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class ConsumerProtocolSubscription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[str] = []
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = []
    generation_id: int = -1
    rack_id: str | None = None


def _read_topic_partition_v1(buf: Buffer, pos: int) -> tuple[TopicPartition, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    return TopicPartition(topic=topic, partitions=partitions), pos


def _write_topic_partition_v1(out: bytearray, message: TopicPartition) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_consumer_protocol_subscription_v0(buf: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    count, pos = read_array_length(buf, pos, 2)
    topics, pos = read_strings(buf, pos, count)
    user_data, pos = read_nullable_bytes(buf, pos)
    return ConsumerProtocolSubscription(topics=topics, user_data=user_data), pos


def _write_consumer_protocol_subscription_v0(out: bytearray, message: ConsumerProtocolSubscription) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    write_strings(out, topics)
    write_nullable_bytes(out, message.user_data)


def _read_consumer_protocol_subscription_v1(buf: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    count, pos = read_array_length(buf, pos, 2)
    topics, pos = read_strings(buf, pos, count)
    user_data, pos = read_nullable_bytes(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    owned_partitions: list[TopicPartition] = []
    for _ in range(count):
        owned_partitions_item, pos = _read_topic_partition_v1(buf, pos)
        owned_partitions.append(owned_partitions_item)
    value = ConsumerProtocolSubscription(
        topics=topics,
        user_data=user_data,
        owned_partitions=owned_partitions,
    )
    return value, pos


def _write_consumer_protocol_subscription_v1(out: bytearray, message: ConsumerProtocolSubscription) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    write_strings(out, topics)
    write_nullable_bytes(out, message.user_data)
    owned_partitions = message.owned_partitions
    write_array_length(out, len(owned_partitions))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(out, owned_partitions_item)


def _read_consumer_protocol_subscription_v2(buf: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    count, pos = read_array_length(buf, pos, 2)
    topics, pos = read_strings(buf, pos, count)
    user_data, pos = read_nullable_bytes(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    owned_partitions: list[TopicPartition] = []
    for _ in range(count):
        owned_partitions_item, pos = _read_topic_partition_v1(buf, pos)
        owned_partitions.append(owned_partitions_item)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    value = ConsumerProtocolSubscription(
        topics=topics,
        user_data=user_data,
        owned_partitions=owned_partitions,
        generation_id=generation_id,
    )
    return value, pos


def _write_consumer_protocol_subscription_v2(out: bytearray, message: ConsumerProtocolSubscription) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    write_strings(out, topics)
    write_nullable_bytes(out, message.user_data)
    owned_partitions = message.owned_partitions
    write_array_length(out, len(owned_partitions))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(out, owned_partitions_item)
    out += _PACKED_i.pack(message.generation_id)


def _read_consumer_protocol_subscription_v3(buf: Buffer, pos: int) -> tuple[ConsumerProtocolSubscription, int]:
    count, pos = read_array_length(buf, pos, 2)
    topics, pos = read_strings(buf, pos, count)
    user_data, pos = read_nullable_bytes(buf, pos)
    count, pos = read_array_length(buf, pos, 6)
    owned_partitions: list[TopicPartition] = []
    for _ in range(count):
        owned_partitions_item, pos = _read_topic_partition_v1(buf, pos)
        owned_partitions.append(owned_partitions_item)
    generation_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack_id, pos = read_nullable_string(buf, pos)
    value = ConsumerProtocolSubscription(
        topics=topics,
        user_data=user_data,
        owned_partitions=owned_partitions,
        generation_id=generation_id,
        rack_id=rack_id,
    )
    return value, pos


def _write_consumer_protocol_subscription_v3(out: bytearray, message: ConsumerProtocolSubscription) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    write_strings(out, topics)
    write_nullable_bytes(out, message.user_data)
    owned_partitions = message.owned_partitions
    write_array_length(out, len(owned_partitions))
    for owned_partitions_item in owned_partitions:
        _write_topic_partition_v1(out, owned_partitions_item)
    out += _PACKED_i.pack(message.generation_id)
    write_nullable_string(out, message.rack_id)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerProtocolSubscription, int]], ...]] = (
    _read_consumer_protocol_subscription_v0,
    _read_consumer_protocol_subscription_v1,
    _read_consumer_protocol_subscription_v2,
    _read_consumer_protocol_subscription_v3,
)
_WRITERS: Final[tuple[Callable[[bytearray, ConsumerProtocolSubscription], None], ...]] = (
    _write_consumer_protocol_subscription_v0,
    _write_consumer_protocol_subscription_v1,
    _write_consumer_protocol_subscription_v2,
    _write_consumer_protocol_subscription_v3,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> ConsumerProtocolSubscription:
    if not 0 <= version <= 3:
        raise unsupported_version("ConsumerProtocolSubscription", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerProtocolSubscription is cut short") from error


def encode_into(out: bytearray, message: ConsumerProtocolSubscription, version: int) -> None:
    if not 0 <= version <= 3:
        raise unsupported_version("ConsumerProtocolSubscription", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerProtocolSubscription holds a value out of range: {error}") from error


def encode(message: ConsumerProtocolSubscription, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
