"""ProduceRequest and ProduceResponse.

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
    RecordsBuffer,
    ZERO_UUID,
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_records,
    read_compact_nullable_string,
    read_compact_string,
    read_nullable_records,
    read_nullable_string,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_records,
    write_compact_nullable_string,
    write_compact_string,
    write_nullable_records,
    write_nullable_string,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 0
VERSIONS: Final = range(3, 14)
FLEXIBLE_FROM: Final = 9

_PACKED_hi: Final = struct.Struct(">hi")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ihqq: Final = struct.Struct(">ihqq")
_PACKED_ihqqq: Final = struct.Struct(">ihqqq")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_u: Final = struct.Struct(">16s")


class PartitionProduceData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    index: int = 0
    records: RecordsBuffer | None = None


class TopicProduceData(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_data: list[PartitionProduceData] = []


class ProduceRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[TopicProduceData] = []


class BatchIndexAndErrorMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    batch_index: int = 0
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1


class PartitionProduceResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: list[BatchIndexAndErrorMessage] = []
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()


class TopicProduceResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    partition_responses: list[PartitionProduceResponse] = []


class NodeEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


class ProduceResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    responses: list[TopicProduceResponse] = []
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = []


_DEFAULT_LEADER_ID_AND_EPOCH: Final = LeaderIdAndEpoch()


def _read_partition_produce_data_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionProduceData, int]:
    index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    records, pos = read_nullable_records(buf, pos)
    return PartitionProduceData(index=index, records=records), pos


def _write_partition_produce_data_v3(out: bytearray, message: PartitionProduceData) -> None:
    out += _PACKED_i.pack(message.index)
    write_nullable_records(out, message.records)


def _read_partition_produce_data_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[PartitionProduceData, int]:
    index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    records, pos = read_compact_nullable_records(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return PartitionProduceData(index=index, records=records), pos


def _write_partition_produce_data_v9(out: bytearray, message: PartitionProduceData) -> None:
    out += _PACKED_i.pack(message.index)
    write_compact_nullable_records(out, message.records)
    out.append(0)


def _read_topic_produce_data_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 8)
    budget.take(count)
    partition_data: list[PartitionProduceData] = []
    for _ in range(count):
        partition_data_item, pos = _read_partition_produce_data_v3(buf, pos, budget)
        partition_data.append(partition_data_item)
    return TopicProduceData(name=name, partition_data=partition_data), pos


def _write_topic_produce_data_v3(out: bytearray, message: TopicProduceData) -> None:
    write_string(out, message.name)
    partition_data = message.partition_data
    write_array_length(out, len(partition_data))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v3(out, partition_data_item)


def _read_topic_produce_data_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    partition_data: list[PartitionProduceData] = []
    for _ in range(count):
        partition_data_item, pos = _read_partition_produce_data_v9(buf, pos, budget)
        partition_data.append(partition_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TopicProduceData(name=name, partition_data=partition_data), pos


def _write_topic_produce_data_v9(out: bytearray, message: TopicProduceData) -> None:
    write_compact_string(out, message.name)
    partition_data = message.partition_data
    write_compact_array_length(out, len(partition_data))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v9(out, partition_data_item)
    out.append(0)


def _read_topic_produce_data_v13(buf: Buffer, pos: int, budget: Budget) -> tuple[TopicProduceData, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    partition_data: list[PartitionProduceData] = []
    for _ in range(count):
        partition_data_item, pos = _read_partition_produce_data_v9(buf, pos, budget)
        partition_data.append(partition_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return TopicProduceData(topic_id=topic_id, partition_data=partition_data), pos


def _write_topic_produce_data_v13(out: bytearray, message: TopicProduceData) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partition_data = message.partition_data
    write_compact_array_length(out, len(partition_data))
    for partition_data_item in partition_data:
        _write_partition_produce_data_v9(out, partition_data_item)
    out.append(0)


def _read_produce_request_v3(buf: Buffer, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_nullable_string(buf, pos)
    acks, timeout_ms = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 6)
    budget.take(count)
    topic_data: list[TopicProduceData] = []
    for _ in range(count):
        topic_data_item, pos = _read_topic_produce_data_v3(buf, pos, budget)
        topic_data.append(topic_data_item)
    value = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=topic_data,
    )
    return value, pos


def _write_produce_request_v3(out: bytearray, message: ProduceRequest) -> None:
    write_nullable_string(out, message.transactional_id)
    out += _PACKED_hi.pack(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    write_array_length(out, len(topic_data))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v3(out, topic_data_item)


def _read_produce_request_v9(buf: Buffer, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    acks, timeout_ms = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    topic_data: list[TopicProduceData] = []
    for _ in range(count):
        topic_data_item, pos = _read_topic_produce_data_v9(buf, pos, budget)
        topic_data.append(topic_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=topic_data,
    )
    return value, pos


def _write_produce_request_v9(out: bytearray, message: ProduceRequest) -> None:
    write_compact_nullable_string(out, message.transactional_id)
    out += _PACKED_hi.pack(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    write_compact_array_length(out, len(topic_data))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v9(out, topic_data_item)
    out.append(0)


def _read_produce_request_v13(buf: Buffer, pos: int, budget: Budget) -> tuple[ProduceRequest, int]:
    transactional_id, pos = read_compact_nullable_string(buf, pos)
    acks, timeout_ms = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topic_data: list[TopicProduceData] = []
    for _ in range(count):
        topic_data_item, pos = _read_topic_produce_data_v13(buf, pos, budget)
        topic_data.append(topic_data_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=topic_data,
    )
    return value, pos


def _write_produce_request_v13(out: bytearray, message: ProduceRequest) -> None:
    write_compact_nullable_string(out, message.transactional_id)
    out += _PACKED_hi.pack(message.acks, message.timeout_ms)
    topic_data = message.topic_data
    write_compact_array_length(out, len(topic_data))
    for topic_data_item in topic_data:
        _write_topic_produce_data_v13(out, topic_data_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[ProduceRequest, int]], ...]] = (
    _read_produce_request_v3,
    _read_produce_request_v3,
    _read_produce_request_v3,
    _read_produce_request_v3,
    _read_produce_request_v3,
    _read_produce_request_v3,
    _read_produce_request_v9,
    _read_produce_request_v9,
    _read_produce_request_v9,
    _read_produce_request_v9,
    _read_produce_request_v13,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, ProduceRequest], None], ...]] = (
    _write_produce_request_v3,
    _write_produce_request_v3,
    _write_produce_request_v3,
    _write_produce_request_v3,
    _write_produce_request_v3,
    _write_produce_request_v3,
    _write_produce_request_v9,
    _write_produce_request_v9,
    _write_produce_request_v9,
    _write_produce_request_v9,
    _write_produce_request_v13,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> ProduceRequest:
    if not 3 <= version <= 13:
        raise unsupported_version("ProduceRequest", version)
    try:
        return _REQUEST_READERS[version - 3](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ProduceRequest is cut short") from error


def encode_request_into(out: bytearray, message: ProduceRequest, version: int) -> None:
    if not 3 <= version <= 13:
        raise unsupported_version("ProduceRequest", version)
    try:
        _REQUEST_WRITERS[version - 3](out, message)
    except struct.error as error:
        raise ProtocolError(f"ProduceRequest holds a value out of range: {error}") from error


def encode_request(message: ProduceRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_batch_index_and_error_message_v8(buf: Buffer, pos: int) -> tuple[BatchIndexAndErrorMessage, int]:
    batch_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    batch_index_error_message, pos = read_nullable_string(buf, pos)
    value = BatchIndexAndErrorMessage(
        batch_index=batch_index,
        batch_index_error_message=batch_index_error_message,
    )
    return value, pos


def _write_batch_index_and_error_message_v8(out: bytearray, message: BatchIndexAndErrorMessage) -> None:
    out += _PACKED_i.pack(message.batch_index)
    write_nullable_string(out, message.batch_index_error_message)


def _read_batch_index_and_error_message_v9(buf: Buffer, pos: int) -> tuple[BatchIndexAndErrorMessage, int]:
    batch_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    batch_index_error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = BatchIndexAndErrorMessage(
        batch_index=batch_index,
        batch_index_error_message=batch_index_error_message,
    )
    return value, pos


def _write_batch_index_and_error_message_v9(out: bytearray, message: BatchIndexAndErrorMessage) -> None:
    out += _PACKED_i.pack(message.batch_index)
    write_compact_nullable_string(out, message.batch_index_error_message)
    out.append(0)


def _read_leader_id_and_epoch_v10(buf: Buffer, pos: int) -> tuple[LeaderIdAndEpoch, int]:
    leader_id, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch), pos


def _write_leader_id_and_epoch_v10(out: bytearray, message: LeaderIdAndEpoch) -> None:
    out += _PACKED_ii.pack(message.leader_id, message.leader_epoch)
    out.append(0)


def _read_partition_produce_response_v3(buf: Buffer, pos: int) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms = _PACKED_ihqq.unpack_from(buf, pos)
    pos += 22
    value = PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
    )
    return value, pos


def _write_partition_produce_response_v3(out: bytearray, message: PartitionProduceResponse) -> None:
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionProduceResponse.current_leader", 3, 4)
    out += _PACKED_ihqq.pack(message.index, message.error_code, message.base_offset, message.log_append_time_ms)


def _read_partition_produce_response_v5(buf: Buffer, pos: int) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    value = PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
    )
    return value, pos


def _write_partition_produce_response_v5(out: bytearray, message: PartitionProduceResponse) -> None:
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionProduceResponse.current_leader", 5, 7)
    out += _PACKED_ihqqq.pack(message.index, message.error_code, message.base_offset, message.log_append_time_ms, message.log_start_offset)


def _read_partition_produce_response_v8(buf: Buffer, pos: int) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_array_length(buf, pos, 6)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        record_errors_item, pos = _read_batch_index_and_error_message_v8(buf, pos)
        record_errors.append(record_errors_item)
    error_message, pos = read_nullable_string(buf, pos)
    value = PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
        record_errors=record_errors,
        error_message=error_message,
    )
    return value, pos


def _write_partition_produce_response_v8(out: bytearray, message: PartitionProduceResponse) -> None:
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionProduceResponse.current_leader", 8, 8)
    out += _PACKED_ihqqq.pack(message.index, message.error_code, message.base_offset, message.log_append_time_ms, message.log_start_offset)
    record_errors = message.record_errors
    write_array_length(out, len(record_errors))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v8(out, record_errors_item)
    write_nullable_string(out, message.error_message)


def _read_partition_produce_response_v9(buf: Buffer, pos: int) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_compact_array_length(buf, pos, 6)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        record_errors_item, pos = _read_batch_index_and_error_message_v9(buf, pos)
        record_errors.append(record_errors_item)
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
        record_errors=record_errors,
        error_message=error_message,
    )
    return value, pos


def _write_partition_produce_response_v9(out: bytearray, message: PartitionProduceResponse) -> None:
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        raise unsupported_field("PartitionProduceResponse.current_leader", 9, 9)
    out += _PACKED_ihqqq.pack(message.index, message.error_code, message.base_offset, message.log_append_time_ms, message.log_start_offset)
    record_errors = message.record_errors
    write_compact_array_length(out, len(record_errors))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v9(out, record_errors_item)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_partition_produce_response_v10(buf: Buffer, pos: int) -> tuple[PartitionProduceResponse, int]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset = _PACKED_ihqqq.unpack_from(buf, pos)
    pos += 30
    count, pos = read_compact_array_length(buf, pos, 6)
    record_errors: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        record_errors_item, pos = _read_batch_index_and_error_message_v9(buf, pos)
        record_errors.append(record_errors_item)
    error_message, pos = read_compact_nullable_string(buf, pos)
    current_leader: LeaderIdAndEpoch = _DEFAULT_LEADER_ID_AND_EPOCH
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                current_leader, pos = _read_leader_id_and_epoch_v10(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("PartitionProduceResponse", tag)
    value = PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=base_offset,
        log_append_time_ms=log_append_time_ms,
        log_start_offset=log_start_offset,
        record_errors=record_errors,
        error_message=error_message,
        current_leader=current_leader,
    )
    return value, pos


def _write_partition_produce_response_v10(out: bytearray, message: PartitionProduceResponse) -> None:
    out += _PACKED_ihqqq.pack(message.index, message.error_code, message.base_offset, message.log_append_time_ms, message.log_start_offset)
    record_errors = message.record_errors
    write_compact_array_length(out, len(record_errors))
    for record_errors_item in record_errors:
        _write_batch_index_and_error_message_v9(out, record_errors_item)
    write_compact_nullable_string(out, message.error_message)
    tagged: list[tuple[int, bytearray]] = []
    if message.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
        value = bytearray()
        _write_leader_id_and_epoch_v10(value, message.current_leader)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_topic_produce_response_v3(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 22)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v3(buf, pos)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name=name, partition_responses=partition_responses), pos


def _write_topic_produce_response_v3(out: bytearray, message: TopicProduceResponse) -> None:
    write_string(out, message.name)
    partition_responses = message.partition_responses
    write_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v3(out, partition_responses_item)


def _read_topic_produce_response_v5(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 30)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v5(buf, pos)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name=name, partition_responses=partition_responses), pos


def _write_topic_produce_response_v5(out: bytearray, message: TopicProduceResponse) -> None:
    write_string(out, message.name)
    partition_responses = message.partition_responses
    write_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v5(out, partition_responses_item)


def _read_topic_produce_response_v8(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    name, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 36)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v8(buf, pos)
        partition_responses.append(partition_responses_item)
    return TopicProduceResponse(name=name, partition_responses=partition_responses), pos


def _write_topic_produce_response_v8(out: bytearray, message: TopicProduceResponse) -> None:
    write_string(out, message.name)
    partition_responses = message.partition_responses
    write_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v8(out, partition_responses_item)


def _read_topic_produce_response_v9(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 33)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v9(buf, pos)
        partition_responses.append(partition_responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicProduceResponse(name=name, partition_responses=partition_responses), pos


def _write_topic_produce_response_v9(out: bytearray, message: TopicProduceResponse) -> None:
    write_compact_string(out, message.name)
    partition_responses = message.partition_responses
    write_compact_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v9(out, partition_responses_item)
    out.append(0)


def _read_topic_produce_response_v10(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    name, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 33)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v10(buf, pos)
        partition_responses.append(partition_responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicProduceResponse(name=name, partition_responses=partition_responses), pos


def _write_topic_produce_response_v10(out: bytearray, message: TopicProduceResponse) -> None:
    write_compact_string(out, message.name)
    partition_responses = message.partition_responses
    write_compact_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v10(out, partition_responses_item)
    out.append(0)


def _read_topic_produce_response_v13(buf: Buffer, pos: int) -> tuple[TopicProduceResponse, int]:
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 33)
    partition_responses: list[PartitionProduceResponse] = []
    for _ in range(count):
        partition_responses_item, pos = _read_partition_produce_response_v10(buf, pos)
        partition_responses.append(partition_responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return TopicProduceResponse(topic_id=topic_id, partition_responses=partition_responses), pos


def _write_topic_produce_response_v13(out: bytearray, message: TopicProduceResponse) -> None:
    out += _PACKED_u.pack(message.topic_id)
    partition_responses = message.partition_responses
    write_compact_array_length(out, len(partition_responses))
    for partition_responses_item in partition_responses:
        _write_partition_produce_response_v10(out, partition_responses_item)
    out.append(0)


def _read_node_endpoint_v10(buf: Buffer, pos: int) -> tuple[NodeEndpoint, int]:
    node_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    rack, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack), pos


def _write_node_endpoint_v10(out: bytearray, message: NodeEndpoint) -> None:
    out += _PACKED_i.pack(message.node_id)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    write_compact_nullable_string(out, message.rack)
    out.append(0)


def _read_produce_response_v3(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v3(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return ProduceResponse(responses=responses, throttle_time_ms=throttle_time_ms), pos


def _write_produce_response_v3(out: bytearray, message: ProduceResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("ProduceResponse.node_endpoints", 3, 4)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v3(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_produce_response_v5(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v5(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return ProduceResponse(responses=responses, throttle_time_ms=throttle_time_ms), pos


def _write_produce_response_v5(out: bytearray, message: ProduceResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("ProduceResponse.node_endpoints", 5, 7)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v5(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_produce_response_v8(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_array_length(buf, pos, 6)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v8(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return ProduceResponse(responses=responses, throttle_time_ms=throttle_time_ms), pos


def _write_produce_response_v8(out: bytearray, message: ProduceResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("ProduceResponse.node_endpoints", 8, 8)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v8(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)


def _read_produce_response_v9(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v9(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ProduceResponse(responses=responses, throttle_time_ms=throttle_time_ms), pos


def _write_produce_response_v9(out: bytearray, message: ProduceResponse) -> None:
    if message.node_endpoints != []:
        raise unsupported_field("ProduceResponse.node_endpoints", 9, 9)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v9(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    out.append(0)


def _read_produce_response_v10(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 3)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v10(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    node_endpoints: list[NodeEndpoint] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 11)
                node_endpoints = []
                for _ in range(count):
                    node_endpoints_item, pos = _read_node_endpoint_v10(buf, pos)
                    node_endpoints.append(node_endpoints_item)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ProduceResponse", tag)
    value = ProduceResponse(
        responses=responses,
        throttle_time_ms=throttle_time_ms,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_produce_response_v10(out: bytearray, message: ProduceResponse) -> None:
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v10(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v10(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_produce_response_v13(buf: Buffer, pos: int) -> tuple[ProduceResponse, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    responses: list[TopicProduceResponse] = []
    for _ in range(count):
        responses_item, pos = _read_topic_produce_response_v13(buf, pos)
        responses.append(responses_item)
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    node_endpoints: list[NodeEndpoint] = []
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                count, pos = read_compact_array_length(buf, pos, 11)
                node_endpoints = []
                for _ in range(count):
                    node_endpoints_item, pos = _read_node_endpoint_v10(buf, pos)
                    node_endpoints.append(node_endpoints_item)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ProduceResponse", tag)
    value = ProduceResponse(
        responses=responses,
        throttle_time_ms=throttle_time_ms,
        node_endpoints=node_endpoints,
    )
    return value, pos


def _write_produce_response_v13(out: bytearray, message: ProduceResponse) -> None:
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_topic_produce_response_v13(out, responses_item)
    out += _PACKED_i.pack(message.throttle_time_ms)
    tagged: list[tuple[int, bytearray]] = []
    if message.node_endpoints != []:
        value = bytearray()
        node_endpoints = message.node_endpoints
        write_compact_array_length(value, len(node_endpoints))
        for node_endpoints_item in node_endpoints:
            _write_node_endpoint_v10(value, node_endpoints_item)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ProduceResponse, int]], ...]] = (
    _read_produce_response_v3,
    _read_produce_response_v3,
    _read_produce_response_v5,
    _read_produce_response_v5,
    _read_produce_response_v5,
    _read_produce_response_v8,
    _read_produce_response_v9,
    _read_produce_response_v10,
    _read_produce_response_v10,
    _read_produce_response_v10,
    _read_produce_response_v13,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, ProduceResponse], None], ...]] = (
    _write_produce_response_v3,
    _write_produce_response_v3,
    _write_produce_response_v5,
    _write_produce_response_v5,
    _write_produce_response_v5,
    _write_produce_response_v8,
    _write_produce_response_v9,
    _write_produce_response_v10,
    _write_produce_response_v10,
    _write_produce_response_v10,
    _write_produce_response_v13,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> ProduceResponse:
    if not 3 <= version <= 13:
        raise unsupported_version("ProduceResponse", version)
    try:
        return _RESPONSE_READERS[version - 3](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ProduceResponse is cut short") from error


def encode_response_into(out: bytearray, message: ProduceResponse, version: int) -> None:
    if not 3 <= version <= 13:
        raise unsupported_version("ProduceResponse", version)
    try:
        _RESPONSE_WRITERS[version - 3](out, message)
    except struct.error as error:
        raise ProtocolError(f"ProduceResponse holds a value out of range: {error}") from error


def encode_response(message: ProduceResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
