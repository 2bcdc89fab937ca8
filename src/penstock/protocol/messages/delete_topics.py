"""DeleteTopicsRequest and DeleteTopicsResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    read_compact_strings,
    read_string,
    read_strings,
    required,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_strings,
    write_string,
    write_strings,
)

API_KEY: Final = 20
VERSIONS: Final = range(1, 7)
FLEXIBLE_FROM: Final = 4

_PACKED_h: Final = struct.Struct(">h")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_u: Final = struct.Struct(">16s")
_PACKED_uh: Final = struct.Struct(">16sh")


class DeleteTopicState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str | None = None
    topic_id: bytes = ZERO_UUID


class DeleteTopicsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[DeleteTopicState] = []
    topic_names: list[str] = []
    timeout_ms: int = 0


class DeletableTopicResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str | None = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None


class DeleteTopicsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    responses: list[DeletableTopicResult] = []


def _read_delete_topic_state_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteTopicState, int]:
    name, pos = read_compact_nullable_string(buf, pos)
    topic_id = _PACKED_u.unpack_from(buf, pos)[0]
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteTopicState(name=name, topic_id=topic_id), pos


def _write_delete_topic_state_v6(out: bytearray, message: DeleteTopicState) -> None:
    write_compact_nullable_string(out, message.name)
    out += _PACKED_u.pack(message.topic_id)
    out.append(0)


def _read_delete_topics_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteTopicsRequest, int]:
    count, pos = read_array_length(buf, pos, 2)
    budget.take(count)
    topic_names, pos = read_strings(buf, pos, count)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    return DeleteTopicsRequest(topic_names=topic_names, timeout_ms=timeout_ms), pos


def _write_delete_topics_request_v1(out: bytearray, message: DeleteTopicsRequest) -> None:
    if message.topics != []:
        raise unsupported_field("DeleteTopicsRequest.topics", 1, 3)
    topic_names = message.topic_names
    write_array_length(out, len(topic_names))
    write_strings(out, topic_names)
    out += _PACKED_i.pack(message.timeout_ms)


def _read_delete_topics_request_v4(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteTopicsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    budget.take(count)
    topic_names, pos = read_compact_strings(buf, pos, count)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteTopicsRequest(topic_names=topic_names, timeout_ms=timeout_ms), pos


def _write_delete_topics_request_v4(out: bytearray, message: DeleteTopicsRequest) -> None:
    if message.topics != []:
        raise unsupported_field("DeleteTopicsRequest.topics", 4, 5)
    topic_names = message.topic_names
    write_compact_array_length(out, len(topic_names))
    write_compact_strings(out, topic_names)
    out += _PACKED_i.pack(message.timeout_ms)
    out.append(0)


def _read_delete_topics_request_v6(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteTopicsRequest, int]:
    count, pos = read_compact_array_length(buf, pos, 18)
    budget.take(count)
    topics: list[DeleteTopicState] = []
    for _ in range(count):
        topics_item, pos = _read_delete_topic_state_v6(buf, pos, budget)
        topics.append(topics_item)
    timeout_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms), pos


def _write_delete_topics_request_v6(out: bytearray, message: DeleteTopicsRequest) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_topic_state_v6(out, topics_item)
    out += _PACKED_i.pack(message.timeout_ms)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteTopicsRequest, int]], ...]] = (
    _read_delete_topics_request_v1,
    _read_delete_topics_request_v1,
    _read_delete_topics_request_v1,
    _read_delete_topics_request_v4,
    _read_delete_topics_request_v4,
    _read_delete_topics_request_v6,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteTopicsRequest], None], ...]] = (
    _write_delete_topics_request_v1,
    _write_delete_topics_request_v1,
    _write_delete_topics_request_v1,
    _write_delete_topics_request_v4,
    _write_delete_topics_request_v4,
    _write_delete_topics_request_v6,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteTopicsRequest:
    if not 1 <= version <= 6:
        raise unsupported_version("DeleteTopicsRequest", version)
    try:
        return _REQUEST_READERS[version - 1](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteTopicsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteTopicsRequest, version: int) -> None:
    if not 1 <= version <= 6:
        raise unsupported_version("DeleteTopicsRequest", version)
    try:
        _REQUEST_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteTopicsRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteTopicsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_deletable_topic_result_v1(buf: Buffer, pos: int) -> tuple[DeletableTopicResult, int]:
    name, pos = read_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    return DeletableTopicResult(name=name, error_code=error_code), pos


def _write_deletable_topic_result_v1(out: bytearray, message: DeletableTopicResult) -> None:
    write_string(out, required(message.name, "DeletableTopicResult.name"))
    out += _PACKED_h.pack(message.error_code)


def _read_deletable_topic_result_v4(buf: Buffer, pos: int) -> tuple[DeletableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeletableTopicResult(name=name, error_code=error_code), pos


def _write_deletable_topic_result_v4(out: bytearray, message: DeletableTopicResult) -> None:
    write_compact_string(out, required(message.name, "DeletableTopicResult.name"))
    out += _PACKED_h.pack(message.error_code)
    out.append(0)


def _read_deletable_topic_result_v5(buf: Buffer, pos: int) -> tuple[DeletableTopicResult, int]:
    name, pos = read_compact_string(buf, pos)
    error_code = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeletableTopicResult(name=name, error_code=error_code, error_message=error_message), pos


def _write_deletable_topic_result_v5(out: bytearray, message: DeletableTopicResult) -> None:
    write_compact_string(out, required(message.name, "DeletableTopicResult.name"))
    out += _PACKED_h.pack(message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_deletable_topic_result_v6(buf: Buffer, pos: int) -> tuple[DeletableTopicResult, int]:
    name, pos = read_compact_nullable_string(buf, pos)
    topic_id, error_code = _PACKED_uh.unpack_from(buf, pos)
    pos += 18
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_deletable_topic_result_v6(out: bytearray, message: DeletableTopicResult) -> None:
    write_compact_nullable_string(out, message.name)
    out += _PACKED_uh.pack(message.topic_id, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_delete_topics_response_v1(buf: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_array_length(buf, pos, 4)
    responses: list[DeletableTopicResult] = []
    for _ in range(count):
        responses_item, pos = _read_deletable_topic_result_v1(buf, pos)
        responses.append(responses_item)
    return DeleteTopicsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_delete_topics_response_v1(out: bytearray, message: DeleteTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_array_length(out, len(responses))
    for responses_item in responses:
        _write_deletable_topic_result_v1(out, responses_item)


def _read_delete_topics_response_v4(buf: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 4)
    responses: list[DeletableTopicResult] = []
    for _ in range(count):
        responses_item, pos = _read_deletable_topic_result_v4(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteTopicsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_delete_topics_response_v4(out: bytearray, message: DeleteTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_deletable_topic_result_v4(out, responses_item)
    out.append(0)


def _read_delete_topics_response_v5(buf: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 5)
    responses: list[DeletableTopicResult] = []
    for _ in range(count):
        responses_item, pos = _read_deletable_topic_result_v5(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteTopicsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_delete_topics_response_v5(out: bytearray, message: DeleteTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_deletable_topic_result_v5(out, responses_item)
    out.append(0)


def _read_delete_topics_response_v6(buf: Buffer, pos: int) -> tuple[DeleteTopicsResponse, int]:
    throttle_time_ms = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    count, pos = read_compact_array_length(buf, pos, 21)
    responses: list[DeletableTopicResult] = []
    for _ in range(count):
        responses_item, pos = _read_deletable_topic_result_v6(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return DeleteTopicsResponse(throttle_time_ms=throttle_time_ms, responses=responses), pos


def _write_delete_topics_response_v6(out: bytearray, message: DeleteTopicsResponse) -> None:
    out += _PACKED_i.pack(message.throttle_time_ms)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_deletable_topic_result_v6(out, responses_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteTopicsResponse, int]], ...]] = (
    _read_delete_topics_response_v1,
    _read_delete_topics_response_v1,
    _read_delete_topics_response_v1,
    _read_delete_topics_response_v4,
    _read_delete_topics_response_v5,
    _read_delete_topics_response_v6,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteTopicsResponse], None], ...]] = (
    _write_delete_topics_response_v1,
    _write_delete_topics_response_v1,
    _write_delete_topics_response_v1,
    _write_delete_topics_response_v4,
    _write_delete_topics_response_v5,
    _write_delete_topics_response_v6,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteTopicsResponse:
    if not 1 <= version <= 6:
        raise unsupported_version("DeleteTopicsResponse", version)
    try:
        return _RESPONSE_READERS[version - 1](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteTopicsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteTopicsResponse, version: int) -> None:
    if not 1 <= version <= 6:
        raise unsupported_version("DeleteTopicsResponse", version)
    try:
        _RESPONSE_WRITERS[version - 1](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteTopicsResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteTopicsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
