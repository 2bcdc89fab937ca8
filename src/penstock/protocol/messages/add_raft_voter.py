"""AddRaftVoterRequest and AddRaftVoterResponse.

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
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
)

API_KEY: Final = 80
VERSIONS: Final = range(0, 2)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iiu: Final = struct.Struct(">ii16s")
_PACKED_o: Final = struct.Struct(">?")


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


class AddRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = ""
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    ack_when_committed: bool = True


class AddRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


def _read_listener_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[Listener, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    return Listener(name=name, host=host, port=port), pos


def _write_listener_v0(out: bytearray, message: Listener) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_add_raft_voter_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[AddRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    timeout_ms, voter_id, voter_directory_id = _PACKED_iiu.unpack_from(buf, pos)
    pos += 24
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    listeners: list[Listener] = []
    for _ in range(count):
        listeners_item, pos = _read_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter_id,
        voter_directory_id=voter_directory_id,
        listeners=listeners,
    )
    return value, pos


def _write_add_raft_voter_request_v0(out: bytearray, message: AddRaftVoterRequest) -> None:
    if not message.ack_when_committed:
        raise unsupported_field("AddRaftVoterRequest.ack_when_committed", 0, 0)
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_iiu.pack(message.timeout_ms, message.voter_id, message.voter_directory_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    out.append(0)


def _read_add_raft_voter_request_v1(buf: Buffer, pos: int, budget: Budget) -> tuple[AddRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    timeout_ms, voter_id, voter_directory_id = _PACKED_iiu.unpack_from(buf, pos)
    pos += 24
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    listeners: list[Listener] = []
    for _ in range(count):
        listeners_item, pos = _read_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    ack_when_committed = _PACKED_o.unpack_from(buf, pos)[0]
    pos += 1
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter_id,
        voter_directory_id=voter_directory_id,
        listeners=listeners,
        ack_when_committed=ack_when_committed,
    )
    return value, pos


def _write_add_raft_voter_request_v1(out: bytearray, message: AddRaftVoterRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_iiu.pack(message.timeout_ms, message.voter_id, message.voter_directory_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    out += _PACKED_o.pack(message.ack_when_committed)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[AddRaftVoterRequest, int]], ...]] = (
    _read_add_raft_voter_request_v0,
    _read_add_raft_voter_request_v1,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, AddRaftVoterRequest], None], ...]] = (
    _write_add_raft_voter_request_v0,
    _write_add_raft_voter_request_v1,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> AddRaftVoterRequest:
    if not 0 <= version <= 1:
        raise unsupported_version("AddRaftVoterRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddRaftVoterRequest is cut short") from error


def encode_request_into(out: bytearray, message: AddRaftVoterRequest, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AddRaftVoterRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddRaftVoterRequest holds a value out of range: {error}") from error


def encode_request(message: AddRaftVoterRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_add_raft_voter_response_v0(buf: Buffer, pos: int) -> tuple[AddRaftVoterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = AddRaftVoterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_add_raft_voter_response_v0(out: bytearray, message: AddRaftVoterResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[AddRaftVoterResponse, int]], ...]] = (
    _read_add_raft_voter_response_v0,
    _read_add_raft_voter_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, AddRaftVoterResponse], None], ...]] = (
    _write_add_raft_voter_response_v0,
    _write_add_raft_voter_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> AddRaftVoterResponse:
    if not 0 <= version <= 1:
        raise unsupported_version("AddRaftVoterResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("AddRaftVoterResponse is cut short") from error


def encode_response_into(out: bytearray, message: AddRaftVoterResponse, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("AddRaftVoterResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"AddRaftVoterResponse holds a value out of range: {error}") from error


def encode_response(message: AddRaftVoterResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
