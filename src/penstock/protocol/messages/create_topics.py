"""CreateTopicsRequest and CreateTopicsResponse.

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
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_nullable_string,
    read_compact_string,
    read_int32s,
    read_nullable_string,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_int32s,
    write_nullable_string,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 19
VERSIONS: Final = range(2, 8)
FLEXIBLE_FROM: Final = 5

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_io: Final = struct.Struct(">i?")
_PACKED_obo: Final = struct.Struct(">?b?")
_PACKED_uh: Final = struct.Struct(">16sh")


class CreatableReplicaAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    partition_index: int = 0
    broker_ids: list[int] = []


class CreatableTopicConfig(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    value: str | None = ""


class CreatableTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: list[CreatableReplicaAssignment] = []
    configs: list[CreatableTopicConfig] = []


class CreateTopicsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[CreatableTopic] = []
    timeout_ms: int = 60000
    validate_only: bool = False


class CreatableTopicConfigs(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False


class CreatableTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = ""
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: list[CreatableTopicConfigs] | None = []


class CreateTopicsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    topics: list[CreatableTopicResult] = []


def _read_creatable_replica_assignment_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableReplicaAssignment, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    broker_ids, pos = read_int32s(buf, pos, count)
    return CreatableReplicaAssignment(partition_index=partition_index, broker_ids=broker_ids), pos


def _write_creatable_replica_assignment_v2(out: bytearray, message: CreatableReplicaAssignment) -> None:
    out += _PACKED_i.pack(message.partition_index)
    broker_ids = message.broker_ids
    write_array_length(out, len(broker_ids))
    write_int32s(out, broker_ids)


def _read_creatable_replica_assignment_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableReplicaAssignment, int]:
    partition_index = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 4)
    budget.take(count)
    broker_ids, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreatableReplicaAssignment(partition_index=partition_index, broker_ids=broker_ids), pos


def _write_creatable_replica_assignment_v5(out: bytearray, message: CreatableReplicaAssignment) -> None:
    out += _PACKED_i.pack(message.partition_index)
    broker_ids = message.broker_ids
    write_compact_array_length(out, len(broker_ids))
    write_int32s(out, broker_ids)
    out.append(0)


def _read_creatable_topic_config_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableTopicConfig, int]:
    name, pos = read_string(buf, pos)
    value_, pos = read_nullable_string(buf, pos)
    return CreatableTopicConfig(name=name, value=value_), pos


def _write_creatable_topic_config_v2(out: bytearray, message: CreatableTopicConfig) -> None:
    write_string(out, message.name)
    write_nullable_string(out, message.value)


def _read_creatable_topic_config_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableTopicConfig, int]:
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreatableTopicConfig(name=name, value=value_), pos


def _write_creatable_topic_config_v5(out: bytearray, message: CreatableTopicConfig) -> None:
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out.append(0)


def _read_creatable_topic_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableTopic, int]:
    name, pos = read_string(buf, pos)
    num_partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_array_length(buf, pos, 8)
    budget.take(count)
    assignments: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_creatable_replica_assignment_v2(buf, pos, budget)
        assignments.append(assignments_item)
    count, pos = read_array_length(buf, pos, 4)
    budget.take(count)
    configs: list[CreatableTopicConfig] = []
    for _ in range(count):
        configs_item, pos = _read_creatable_topic_config_v2(buf, pos, budget)
        configs.append(configs_item)
    value = CreatableTopic(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        assignments=assignments,
        configs=configs,
    )
    return value, pos


def _write_creatable_topic_v2(out: bytearray, message: CreatableTopic) -> None:
    write_string(out, message.name)
    out += _PACKED_ih.pack(message.num_partitions, message.replication_factor)
    assignments = message.assignments
    write_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_creatable_replica_assignment_v2(out, assignments_item)
    configs = message.configs
    write_array_length(out, len(configs))
    for configs_item in configs:
        _write_creatable_topic_config_v2(out, configs_item)


def _read_creatable_topic_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[CreatableTopic, int]:
    name, pos = read_compact_string(buf, pos)
    num_partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 6)
    budget.take(count)
    assignments: list[CreatableReplicaAssignment] = []
    for _ in range(count):
        assignments_item, pos = _read_creatable_replica_assignment_v5(buf, pos, budget)
        assignments.append(assignments_item)
    count, pos = read_compact_array_length(buf, pos, 3)
    budget.take(count)
    configs: list[CreatableTopicConfig] = []
    for _ in range(count):
        configs_item, pos = _read_creatable_topic_config_v5(buf, pos, budget)
        configs.append(configs_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = CreatableTopic(
        name=name,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        assignments=assignments,
        configs=configs,
    )
    return value, pos


def _write_creatable_topic_v5(out: bytearray, message: CreatableTopic) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_ih.pack(message.num_partitions, message.replication_factor)
    assignments = message.assignments
    write_compact_array_length(out, len(assignments))
    for assignments_item in assignments:
        _write_creatable_replica_assignment_v5(out, assignments_item)
    configs = message.configs
    write_compact_array_length(out, len(configs))
    for configs_item in configs:
        _write_creatable_topic_config_v5(out, configs_item)
    out.append(0)


def _read_create_topics_request_v2(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateTopicsRequest, int]:
    count, pos = read_array_length(buf, pos, 16)
    budget.take(count)
    topics: list[CreatableTopic] = []
    for _ in range(count):
        topics_item, pos = _read_creatable_topic_v2(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    return CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only), pos


def _write_create_topics_request_v2(out: bytearray, message: CreateTopicsRequest) -> None:
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_creatable_topic_v2(out, topics_item)
    out += _PACKED_io.pack(message.timeout_ms, message.validate_only)


def _read_create_topics_request_v5(buf: Buffer, pos: int, budget: Budget) -> tuple[CreateTopicsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 10)
    budget.take(count)
    topics: list[CreatableTopic] = []
    for _ in range(count):
        topics_item, pos = _read_creatable_topic_v5(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms, validate_only = _PACKED_io.unpack_from(buf, pos)
    pos += 5
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only), pos


def _write_create_topics_request_v5(out: bytearray, message: CreateTopicsRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_creatable_topic_v5(out, topics_item)
    out += _PACKED_io.pack(message.timeout_ms, message.validate_only)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[CreateTopicsRequest, int]], ...]] = (
    _read_create_topics_request_v2,
    _read_create_topics_request_v2,
    _read_create_topics_request_v2,
    _read_create_topics_request_v5,
    _read_create_topics_request_v5,
    _read_create_topics_request_v5,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, CreateTopicsRequest], None], ...]] = (
    _write_create_topics_request_v2,
    _write_create_topics_request_v2,
    _write_create_topics_request_v2,
    _write_create_topics_request_v5,
    _write_create_topics_request_v5,
    _write_create_topics_request_v5,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> CreateTopicsRequest:
    if not 2 <= version <= 7:
        raise unsupported_version("CreateTopicsRequest", version)
    try:
        return _REQUEST_READERS[version - 2](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateTopicsRequest is cut short") from error


def encode_request_into(out: bytearray, message: CreateTopicsRequest, version: int) -> None:
    if not 2 <= version <= 7:
        raise unsupported_version("CreateTopicsRequest", version)
    try:
        _REQUEST_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateTopicsRequest holds a value out of range: {error}") from error


def encode_request(message: CreateTopicsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_creatable_topic_configs_v5(buf: Buffer, pos: int) -> tuple[CreatableTopicConfigs, int]:
    name, pos = read_compact_string(buf, pos)
    value_, pos = read_compact_nullable_string(buf, pos)
    read_only, config_source, is_sensitive = _PACKED_obo.unpack_from(buf, pos)
    pos += 3
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = CreatableTopicConfigs(
        name=name,
        value=value_,
        read_only=read_only,
        config_source=config_source,
        is_sensitive=is_sensitive,
    )
    return value, pos


def _write_creatable_topic_configs_v5(out: bytearray, message: CreatableTopicConfigs) -> None:
    write_compact_string(out, message.name)
    write_compact_nullable_string(out, message.value)
    out += _PACKED_obo.pack(message.read_only, message.config_source, message.is_sensitive)
    out.append(0)


def _read_creatable_topic_result_v2(buf: Buffer, pos: int) -> tuple[CreatableTopicResult, int]:
    name, pos = read_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_nullable_string(buf, pos)
    return CreatableTopicResult(name=name, error_code=error_code, error_message=error_message), pos


def _write_creatable_topic_result_v2(out: bytearray, message: CreatableTopicResult) -> None:
    write_string(out, message.name)
    out += _PACKED_h.pack(message.error_code)
    write_nullable_string(out, message.error_message)


def _read_creatable_topic_result_v5(buf: Buffer, pos: int) -> tuple[CreatableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    num_partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_nullable_array_length(buf, pos, 6)
    configs: list[CreatableTopicConfigs] | None = None
    if count >= 0:
        configs = []
        for _ in range(count):
            configs_item, pos = _read_creatable_topic_configs_v5(buf, pos)
            configs.append(configs_item)
    topic_config_error_code: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                topic_config_error_code = _PACKED_h.unpack_from(buf, pos)[0]
                pos += 2
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("CreatableTopicResult", tag)
    value = CreatableTopicResult(
        name=name,
        error_code=error_code,
        error_message=error_message,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        configs=configs,
        topic_config_error_code=topic_config_error_code,
    )
    return value, pos


def _write_creatable_topic_result_v5(out: bytearray, message: CreatableTopicResult) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_ih.pack(message.num_partitions, message.replication_factor)
    configs = message.configs
    if configs is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(configs))
        for configs_item in configs:
            _write_creatable_topic_configs_v5(out, configs_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.topic_config_error_code != 0:
        value = bytearray()
        value += _PACKED_h.pack(message.topic_config_error_code)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_creatable_topic_result_v7(buf: Buffer, pos: int) -> tuple[CreatableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    topic_id, error_code = _PACKED_uh.unpack_from(buf, pos)
    pos += 18
    error_message, pos = read_compact_nullable_string(buf, pos)
    num_partitions, replication_factor = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_nullable_array_length(buf, pos, 6)
    configs: list[CreatableTopicConfigs] | None = None
    if count >= 0:
        configs = []
        for _ in range(count):
            configs_item, pos = _read_creatable_topic_configs_v5(buf, pos)
            configs.append(configs_item)
    topic_config_error_code: int = 0
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                topic_config_error_code = _PACKED_h.unpack_from(buf, pos)[0]
                pos += 2
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("CreatableTopicResult", tag)
    value = CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=error_code,
        error_message=error_message,
        num_partitions=num_partitions,
        replication_factor=replication_factor,
        configs=configs,
        topic_config_error_code=topic_config_error_code,
    )
    return value, pos


def _write_creatable_topic_result_v7(out: bytearray, message: CreatableTopicResult) -> None:
    write_compact_string(out, message.name)
    out += _PACKED_uh.pack(message.topic_id, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out += _PACKED_ih.pack(message.num_partitions, message.replication_factor)
    configs = message.configs
    if configs is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(configs))
        for configs_item in configs:
            _write_creatable_topic_configs_v5(out, configs_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.topic_config_error_code != 0:
        value = bytearray()
        value += _PACKED_h.pack(message.topic_config_error_code)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


def _read_create_topics_response_v2(buf: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 6)
    topics: list[CreatableTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_creatable_topic_result_v2(buf, pos)
        topics.append(topics_item)
    return CreateTopicsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_create_topics_response_v2(out: bytearray, message: CreateTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_array_length(out, len(topics))
    for topics_item in topics:
        _write_creatable_topic_result_v2(out, topics_item)


def _read_create_topics_response_v5(buf: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 12)
    topics: list[CreatableTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_creatable_topic_result_v5(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CreateTopicsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_create_topics_response_v5(out: bytearray, message: CreateTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_creatable_topic_result_v5(out, topics_item)
    out.append(0)


def _read_create_topics_response_v7(buf: Buffer, pos: int) -> tuple[CreateTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 28)
    topics: list[CreatableTopicResult] = []
    for _ in range(count):
        topics_item, pos = _read_creatable_topic_result_v7(buf, pos)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CreateTopicsResponse(throttle_time_ms=throttle_time_ms, topics=topics), pos


def _write_create_topics_response_v7(out: bytearray, message: CreateTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_creatable_topic_result_v7(out, topics_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[CreateTopicsResponse, int]], ...]] = (
    _read_create_topics_response_v2,
    _read_create_topics_response_v2,
    _read_create_topics_response_v2,
    _read_create_topics_response_v5,
    _read_create_topics_response_v5,
    _read_create_topics_response_v7,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, CreateTopicsResponse], None], ...]] = (
    _write_create_topics_response_v2,
    _write_create_topics_response_v2,
    _write_create_topics_response_v2,
    _write_create_topics_response_v5,
    _write_create_topics_response_v5,
    _write_create_topics_response_v7,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> CreateTopicsResponse:
    if not 2 <= version <= 7:
        raise unsupported_version("CreateTopicsResponse", version)
    try:
        return _RESPONSE_READERS[version - 2](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("CreateTopicsResponse is cut short") from error


def encode_response_into(out: bytearray, message: CreateTopicsResponse, version: int) -> None:
    if not 2 <= version <= 7:
        raise unsupported_version("CreateTopicsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 2](out, message)
    except struct.error as error:
        raise ProtocolError(f"CreateTopicsResponse holds a value out of range: {error}") from error


def encode_response(message: CreateTopicsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
