"""AlterPartitionRequest and AlterPartitionResponse.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Budget,
    Buffer,
    ZERO_UUID,
    read_compact_array_length,
    read_int32s,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_int32s,
)

API_KEY: Final = 56
VERSIONS: Final = range(2, 4)
FLEXIBLE_FROM: Final = 0

_PACKED_bi: Final = struct.Struct(">bi")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ihii: Final = struct.Struct(">ihii")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iq: Final = struct.Struct(">iq")
_PACKED_u: Final = struct.Struct(">16s")


class BrokerState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1


class RequestPartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    leader_epoch: int = 0
    new_isr: list[int] = []
    new_isr_with_epochs: list[BrokerState] = []
    leader_recovery_state: int = 0
    partition_epoch: int = 0


class RequestTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[RequestPartitionData] = []


class AlterPartitionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    broker_id: int = 0
    broker_epoch: int = -1
    topics: list[RequestTopicData] = []


class ResponsePartitionData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0
    isr: list[int] = []
    leader_recovery_state: int = 0
    partition_epoch: int = 0


class ResponseTopicData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_id: bytes = ZERO_UUID
    partitions: list[ResponsePartitionData] = []


class AlterPartitionResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    topics: list[ResponseTopicData] = []


def _read_broker_state_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[BrokerState, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return BrokerState(broker_id=broker_id, broker_epoch=broker_epoch), pos


def _write_broker_state_v3(out: bytearray, message: BrokerState) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    out.append(0)


def _read_request_partition_data_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    new_isr, pos = read_int32s(buf, pos, count)
    leader_recovery_state, partition_epoch = _PACKED_bi.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        leader_epoch=leader_epoch,
        new_isr=new_isr,
        leader_recovery_state=leader_recovery_state,
        partition_epoch=partition_epoch,
    )
    return value, pos


def _write_request_partition_data_v2(out: bytearray, message: RequestPartitionData) -> None:
    if message.new_isr_with_epochs != []:
        raise unsupported_field("PartitionData.new_isr_with_epochs", 2, 2)
    out += _PACKED_ii.pack(message.partition_index, message.leader_epoch)
    new_isr = message.new_isr
    write_compact_array_length(out, len(new_isr))
    write_int32s(out, new_isr)
    out += _PACKED_bi.pack(message.leader_recovery_state, message.partition_epoch)
    out.append(0)


def _read_request_partition_data_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestPartitionData, int]:
    partition_index, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    count, pos = read_compact_array_length(buf, pos, 13)
    budget.take(count)
    new_isr_with_epochs: list[BrokerState] = []
    for _ in range(count):
        new_isr_with_epochs_item, pos = _read_broker_state_v3(buf, pos, budget)
        new_isr_with_epochs.append(new_isr_with_epochs_item)
    leader_recovery_state, partition_epoch = _PACKED_bi.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RequestPartitionData(
        partition_index=partition_index,
        leader_epoch=leader_epoch,
        new_isr_with_epochs=new_isr_with_epochs,
        leader_recovery_state=leader_recovery_state,
        partition_epoch=partition_epoch,
    )
    return value, pos


def _write_request_partition_data_v3(out: bytearray, message: RequestPartitionData) -> None:
    if message.new_isr != []:
        raise unsupported_field("PartitionData.new_isr", 3, 3)
    out += _PACKED_ii.pack(message.partition_index, message.leader_epoch)
    new_isr_with_epochs = message.new_isr_with_epochs
    write_compact_array_length(out, len(new_isr_with_epochs))
    for new_isr_with_epochs_item in new_isr_with_epochs:
        _write_broker_state_v3(out, new_isr_with_epochs_item)
    out += _PACKED_bi.pack(message.leader_recovery_state, message.partition_epoch)
    out.append(0)


def _read_request_topic_data_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 15)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v2(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_id=topic_id, partitions=partitions), pos


def _write_request_topic_data_v2(out: bytearray, message: RequestTopicData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v2(out, partitions_item)
    out.append(0)


def _read_request_topic_data_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[RequestTopicData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 15)
    budget.take(count)
    partitions: list[RequestPartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_request_partition_data_v3(buf, pos, budget)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return RequestTopicData(topic_id=topic_id, partitions=partitions), pos


def _write_request_topic_data_v3(out: bytearray, message: RequestTopicData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_request_partition_data_v3(out, partitions_item)
    out.append(0)


def _read_alter_partition_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v2(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=topics), pos


def _write_alter_partition_request_v2(out: bytearray, message: AlterPartitionRequest) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v2(out, topics_item)
    out.append(0)


def _read_alter_partition_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[AlterPartitionRequest, int]:
    broker_id, broker_epoch = _PACKED_iq.unpack_from(buf, pos)
    pos += 12
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[RequestTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_request_topic_data_v3(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=topics), pos


def _write_alter_partition_request_v3(out: bytearray, message: AlterPartitionRequest) -> None:
    out += _PACKED_iq.pack(message.broker_id, message.broker_epoch)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_request_topic_data_v3(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AlterPartitionRequest, int]], ...]] = (
    _read_alter_partition_request_v2,
    _read_alter_partition_request_v3,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AlterPartitionRequest], None], ...]] = (
    _write_alter_partition_request_v2,
    _write_alter_partition_request_v3,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AlterPartitionRequest:
    if not 2 <= version <= 3:
        raise unsupported_version("AlterPartitionRequest", version)
    try:
        return _REQUEST_READERS[version - 2](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterPartitionRequest is cut short") from error


def encode_request_into(out: bytearray, message: AlterPartitionRequest, version: int) -> None:
    if not 2 <= version <= 3:
        raise unsupported_version("AlterPartitionRequest", version)
    try:
        _REQUEST_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterPartitionRequest holds a value out of range: {error}") from error


def encode_request(message: AlterPartitionRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_response_partition_data_v2(buf: Buffer, pos: int) -> tuple[ResponsePartitionData, int]:
    partition_index, error_code, leader_id, leader_epoch = _PACKED_ihii.unpack_from(buf, pos)
    pos += 14
    count, pos = read_compact_array_length(buf, pos, 4)
    isr, pos = read_int32s(buf, pos, count)
    leader_recovery_state, partition_epoch = _PACKED_bi.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = ResponsePartitionData(
        partition_index=partition_index,
        error_code=error_code,
        leader_id=leader_id,
        leader_epoch=leader_epoch,
        isr=isr,
        leader_recovery_state=leader_recovery_state,
        partition_epoch=partition_epoch,
    )
    return value, pos


def _write_response_partition_data_v2(out: bytearray, message: ResponsePartitionData) -> None:
    out += _PACKED_ihii.pack(message.partition_index, message.error_code, message.leader_id, message.leader_epoch)
    isr = message.isr
    write_compact_array_length(out, len(isr))
    write_int32s(out, isr)
    out += _PACKED_bi.pack(message.leader_recovery_state, message.partition_epoch)
    out.append(0)


def _read_response_topic_data_v2(buf: Buffer, pos: int) -> tuple[ResponseTopicData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 21)
    partitions: list[ResponsePartitionData] = []
    for _ in range(count):
        partitions_item, pos = _read_response_partition_data_v2(buf, pos)
        partitions.append(partitions_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ResponseTopicData(topic_id=topic_id, partitions=partitions), pos


def _write_response_topic_data_v2(out: bytearray, message: ResponseTopicData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partitions = message.partitions
    write_compact_array_length(out, len(partitions))
    for partitions_item in partitions:
        _write_response_partition_data_v2(out, partitions_item)
    out.append(0)


def _read_alter_partition_response_v2(buf: Buffer, pos: int) -> tuple[AlterPartitionResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 18)
    topics: list[ResponseTopicData] = []
    for _ in range(count):
        topics_item, pos = _read_response_topic_data_v2(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AlterPartitionResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        topics=topics,
    )
    return value, pos


def _write_alter_partition_response_v2(out: bytearray, message: AlterPartitionResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_response_topic_data_v2(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AlterPartitionResponse, int]], ...]] = (
    _read_alter_partition_response_v2,
    _read_alter_partition_response_v2,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AlterPartitionResponse], None], ...]] = (
    _write_alter_partition_response_v2,
    _write_alter_partition_response_v2,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AlterPartitionResponse:
    if not 2 <= version <= 3:
        raise unsupported_version("AlterPartitionResponse", version)
    try:
        return _RESPONSE_READERS[version - 2](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AlterPartitionResponse is cut short") from error


def encode_response_into(out: bytearray, message: AlterPartitionResponse, version: int) -> None:
    if not 2 <= version <= 3:
        raise unsupported_version("AlterPartitionResponse", version)
    try:
        _RESPONSE_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"AlterPartitionResponse holds a value out of range: {error}") from error


def encode_response(message: AlterPartitionResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
