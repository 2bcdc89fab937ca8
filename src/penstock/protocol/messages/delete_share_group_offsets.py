"""DeleteShareGroupOffsetsRequest and DeleteShareGroupOffsetsResponse.

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
    read_compact_nullable_string,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 92
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_uh: Final = struct.Struct(">16sh")


class DeleteShareGroupOffsetsRequestTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""


class DeleteShareGroupOffsetsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []


class DeleteShareGroupOffsetsResponseTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic_name: str = ""
    topic_id: bytes = ZERO_UUID
    error_code: int = 0
    error_message: str | None = None


class DeleteShareGroupOffsetsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []


def _read_delete_share_group_offsets_request_topic_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteShareGroupOffsetsRequestTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteShareGroupOffsetsRequestTopic(topic_name=topic_name), pos


def _write_delete_share_group_offsets_request_topic_v0(out: bytearray, message: DeleteShareGroupOffsetsRequestTopic) -> None:
    write_compact_string(out, message.topic_name)
    out.append(0)


def _read_delete_share_group_offsets_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[DeleteShareGroupOffsetsRequest, int]:
    group_id, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 2)
    budget.take(count)
    topics: list[DeleteShareGroupOffsetsRequestTopic] = []
    for _ in range(count):
        topics_item, pos = _read_delete_share_group_offsets_request_topic_v0(buf, pos, budget)
        topics.append(topics_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return DeleteShareGroupOffsetsRequest(group_id=group_id, topics=topics), pos


def _write_delete_share_group_offsets_request_v0(out: bytearray, message: DeleteShareGroupOffsetsRequest) -> None:
    write_compact_string(out, message.group_id)
    topics = message.topics
    write_compact_array_length(out, len(topics))
    for topics_item in topics:
        _write_delete_share_group_offsets_request_topic_v0(out, topics_item)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[DeleteShareGroupOffsetsRequest, int]], ...]] = (
    _read_delete_share_group_offsets_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, DeleteShareGroupOffsetsRequest], None], ...]] = (
    _write_delete_share_group_offsets_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> DeleteShareGroupOffsetsRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupOffsetsRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteShareGroupOffsetsRequest is cut short") from error


def encode_request_into(out: bytearray, message: DeleteShareGroupOffsetsRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupOffsetsRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteShareGroupOffsetsRequest holds a value out of range: {error}") from error


def encode_request(message: DeleteShareGroupOffsetsRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_delete_share_group_offsets_response_topic_v0(buf: Buffer, pos: int) -> tuple[DeleteShareGroupOffsetsResponseTopic, int]:
    topic_name, pos = read_compact_string(buf, pos)
    topic_id, error_code = _PACKED_uh.unpack_from(buf, pos)
    pos += 18
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeleteShareGroupOffsetsResponseTopic(
        topic_name=topic_name,
        topic_id=topic_id,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_delete_share_group_offsets_response_topic_v0(out: bytearray, message: DeleteShareGroupOffsetsResponseTopic) -> None:
    write_compact_string(out, message.topic_name)
    out += _PACKED_uh.pack(message.topic_id, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


def _read_delete_share_group_offsets_response_v0(buf: Buffer, pos: int) -> tuple[DeleteShareGroupOffsetsResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 21)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = []
    for _ in range(count):
        responses_item, pos = _read_delete_share_group_offsets_response_topic_v0(buf, pos)
        responses.append(responses_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = DeleteShareGroupOffsetsResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
        responses=responses,
    )
    return value, pos


def _write_delete_share_group_offsets_response_v0(out: bytearray, message: DeleteShareGroupOffsetsResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    responses = message.responses
    write_compact_array_length(out, len(responses))
    for responses_item in responses:
        _write_delete_share_group_offsets_response_topic_v0(out, responses_item)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[DeleteShareGroupOffsetsResponse, int]], ...]] = (
    _read_delete_share_group_offsets_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, DeleteShareGroupOffsetsResponse], None], ...]] = (
    _write_delete_share_group_offsets_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> DeleteShareGroupOffsetsResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupOffsetsResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("DeleteShareGroupOffsetsResponse is cut short") from error


def encode_response_into(out: bytearray, message: DeleteShareGroupOffsetsResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("DeleteShareGroupOffsetsResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"DeleteShareGroupOffsetsResponse holds a value out of range: {error}") from error


def encode_response(message: DeleteShareGroupOffsetsResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
