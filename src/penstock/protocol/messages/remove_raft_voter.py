"""RemoveRaftVoterRequest and RemoveRaftVoterResponse.

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
    read_compact_nullable_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_nullable_string,
)

API_KEY: Final = 81
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_iu: Final = struct.Struct(">i16s")


class RemoveRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = ""
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID


class RemoveRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""


def _read_remove_raft_voter_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[RemoveRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    voter_id, voter_directory_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = RemoveRaftVoterRequest(
        cluster_id=cluster_id,
        voter_id=voter_id,
        voter_directory_id=voter_directory_id,
    )
    return value, pos


def _write_remove_raft_voter_request_v0(out: bytearray, message: RemoveRaftVoterRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_iu.pack(message.voter_id, message.voter_directory_id)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[RemoveRaftVoterRequest, int]], ...]] = (
    _read_remove_raft_voter_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, RemoveRaftVoterRequest], None], ...]] = (
    _write_remove_raft_voter_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> RemoveRaftVoterRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveRaftVoterRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveRaftVoterRequest is cut short") from error


def encode_request_into(out: bytearray, message: RemoveRaftVoterRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveRaftVoterRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveRaftVoterRequest holds a value out of range: {error}") from error


def encode_request(message: RemoveRaftVoterRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_remove_raft_voter_response_v0(buf: Buffer, pos: int) -> tuple[RemoveRaftVoterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    error_message, pos = read_compact_nullable_string(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = RemoveRaftVoterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        error_message=error_message,
    )
    return value, pos


def _write_remove_raft_voter_response_v0(out: bytearray, message: RemoveRaftVoterResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    write_compact_nullable_string(out, message.error_message)
    out.append(0)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[RemoveRaftVoterResponse, int]], ...]] = (
    _read_remove_raft_voter_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, RemoveRaftVoterResponse], None], ...]] = (
    _write_remove_raft_voter_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> RemoveRaftVoterResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveRaftVoterResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("RemoveRaftVoterResponse is cut short") from error


def encode_response_into(out: bytearray, message: RemoveRaftVoterResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("RemoveRaftVoterResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"RemoveRaftVoterResponse holds a value out of range: {error}") from error


def encode_response(message: RemoveRaftVoterResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
