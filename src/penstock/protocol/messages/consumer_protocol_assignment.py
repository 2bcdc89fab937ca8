"""ConsumerProtocolAssignment.

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
    read_string,
    unsupported_version,
    write_array_length,
    write_int32s,
    write_nullable_bytes,
    write_string,
)

VERSIONS: Final = range(0, 4)


class TopicPartition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partitions: list[int] = []


class ConsumerProtocolAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    assigned_partitions: list[TopicPartition] = []
    user_data: bytes | None = None


def _read_topic_partition_v0(buf: Buffer, pos: int) -> tuple[TopicPartition, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    partitions, pos = read_int32s(buf, pos, count)
    return TopicPartition(topic=topic, partitions=partitions), pos


def _write_topic_partition_v0(out: bytearray, message: TopicPartition) -> None:
    write_string(out, message.topic)
    partitions = message.partitions
    write_array_length(out, len(partitions))
    write_int32s(out, partitions)


def _read_consumer_protocol_assignment_v0(buf: Buffer, pos: int) -> tuple[ConsumerProtocolAssignment, int]:
    count, pos = read_array_length(buf, pos, 6)
    assigned_partitions: list[TopicPartition] = []
    for _ in range(count):
        assigned_partitions_item, pos = _read_topic_partition_v0(buf, pos)
        assigned_partitions.append(assigned_partitions_item)
    user_data, pos = read_nullable_bytes(buf, pos)
    return ConsumerProtocolAssignment(assigned_partitions=assigned_partitions, user_data=user_data), pos


def _write_consumer_protocol_assignment_v0(out: bytearray, message: ConsumerProtocolAssignment) -> None:
    assigned_partitions = message.assigned_partitions
    write_array_length(out, len(assigned_partitions))
    for assigned_partitions_item in assigned_partitions:
        _write_topic_partition_v0(out, assigned_partitions_item)
    write_nullable_bytes(out, message.user_data)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerProtocolAssignment, int]], ...]] = (
    _read_consumer_protocol_assignment_v0,
    _read_consumer_protocol_assignment_v0,
    _read_consumer_protocol_assignment_v0,
    _read_consumer_protocol_assignment_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, ConsumerProtocolAssignment], None], ...]] = (
    _write_consumer_protocol_assignment_v0,
    _write_consumer_protocol_assignment_v0,
    _write_consumer_protocol_assignment_v0,
    _write_consumer_protocol_assignment_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> ConsumerProtocolAssignment:
    if not 0 <= version <= 3:
        raise unsupported_version("ConsumerProtocolAssignment", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerProtocolAssignment is cut short") from error


def encode_into(out: bytearray, message: ConsumerProtocolAssignment, version: int) -> None:
    if not 0 <= version <= 3:
        raise unsupported_version("ConsumerProtocolAssignment", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerProtocolAssignment holds a value out of range: {error}") from error


def encode(message: ConsumerProtocolAssignment, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
