"""UpdateRaftVoterRequest and UpdateRaftVoterResponse.

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
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_nullable_string,
    write_compact_string,
    write_tagged_fields,
    wrong_tag_size,
)

API_KEY: Final = 82
VERSIONS: Final = range(0, 1)
FLEXIBLE_FROM: Final = 0

_PACKED_H: Final = struct.Struct(">H")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_ih: Final = struct.Struct(">ih")
_PACKED_ii: Final = struct.Struct(">ii")
_PACKED_iiu: Final = struct.Struct(">ii16s")


class Listener(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


class KRaftVersionFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    min_supported_version: int = 0
    max_supported_version: int = 0


class UpdateRaftVoterRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    cluster_id: str | None = ""
    current_leader_epoch: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    listeners: list[Listener] = []
    kraft_version_feature: KRaftVersionFeature = KRaftVersionFeature()


class CurrentLeader(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ""
    port: int = 0


class UpdateRaftVoterResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: CurrentLeader = CurrentLeader()


_DEFAULT_CURRENT_LEADER: Final = CurrentLeader()


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


def _read_kraft_version_feature_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[KRaftVersionFeature, int]:
    min_supported_version, max_supported_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = KRaftVersionFeature(
        min_supported_version=min_supported_version,
        max_supported_version=max_supported_version,
    )
    return value, pos


def _write_kraft_version_feature_v0(out: bytearray, message: KRaftVersionFeature) -> None:
    out += _PACKED_hh.pack(message.min_supported_version, message.max_supported_version)
    out.append(0)


def _read_update_raft_voter_request_v0(buf: Buffer, pos: int, budget: Budget) -> tuple[UpdateRaftVoterRequest, int]:
    cluster_id, pos = read_compact_nullable_string(buf, pos)
    current_leader_epoch, voter_id, voter_directory_id = _PACKED_iiu.unpack_from(buf, pos)
    pos += 24
    count, pos = read_compact_array_length(buf, pos, 5)
    budget.take(count)
    listeners: list[Listener] = []
    for _ in range(count):
        listeners_item, pos = _read_listener_v0(buf, pos, budget)
        listeners.append(listeners_item)
    kraft_version_feature, pos = _read_kraft_version_feature_v0(buf, pos, budget)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos, budget)
    value = UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=current_leader_epoch,
        voter_id=voter_id,
        voter_directory_id=voter_directory_id,
        listeners=listeners,
        kraft_version_feature=kraft_version_feature,
    )
    return value, pos


def _write_update_raft_voter_request_v0(out: bytearray, message: UpdateRaftVoterRequest) -> None:
    write_compact_nullable_string(out, message.cluster_id)
    out += _PACKED_iiu.pack(message.current_leader_epoch, message.voter_id, message.voter_directory_id)
    listeners = message.listeners
    write_compact_array_length(out, len(listeners))
    for listeners_item in listeners:
        _write_listener_v0(out, listeners_item)
    _write_kraft_version_feature_v0(out, message.kraft_version_feature)
    out.append(0)


_REQUEST_READERS: Final[tuple[Callable[[Buffer, int, Budget], tuple[UpdateRaftVoterRequest, int]], ...]] = (
    _read_update_raft_voter_request_v0,
)
_REQUEST_WRITERS: Final[tuple[Callable[[bytearray, UpdateRaftVoterRequest], None], ...]] = (
    _write_update_raft_voter_request_v0,
)


def decode_request(buf: Buffer, version: int, pos: int = 0) -> UpdateRaftVoterRequest:
    if not 0 <= version <= 0:
        raise unsupported_version("UpdateRaftVoterRequest", version)
    try:
        return _REQUEST_READERS[version](buf, pos, Budget())[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UpdateRaftVoterRequest is cut short") from error


def encode_request_into(out: bytearray, message: UpdateRaftVoterRequest, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UpdateRaftVoterRequest", version)
    try:
        _REQUEST_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UpdateRaftVoterRequest holds a value out of range: {error}") from error


def encode_request(message: UpdateRaftVoterRequest, version: int) -> bytes:
    out = bytearray()
    encode_request_into(out, message, version)
    return bytes(out)


def _read_current_leader_v0(buf: Buffer, pos: int) -> tuple[CurrentLeader, int]:
    leader_id, leader_epoch = _PACKED_ii.unpack_from(buf, pos)
    pos += 8
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return CurrentLeader(leader_id=leader_id, leader_epoch=leader_epoch, host=host, port=port), pos


def _write_current_leader_v0(out: bytearray, message: CurrentLeader) -> None:
    out += _PACKED_ii.pack(message.leader_id, message.leader_epoch)
    write_compact_string(out, message.host)
    out += _PACKED_i.pack(message.port)
    out.append(0)


def _read_update_raft_voter_response_v0(buf: Buffer, pos: int) -> tuple[UpdateRaftVoterResponse, int]:
    throttle_time_ms, error_code = _PACKED_ih.unpack_from(buf, pos)
    pos += 6
    current_leader: CurrentLeader = _DEFAULT_CURRENT_LEADER
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                current_leader, pos = _read_current_leader_v0(buf, pos)
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("UpdateRaftVoterResponse", tag)
    value = UpdateRaftVoterResponse(
        throttle_time_ms=throttle_time_ms,
        error_code=error_code,
        current_leader=current_leader,
    )
    return value, pos


def _write_update_raft_voter_response_v0(out: bytearray, message: UpdateRaftVoterResponse) -> None:
    out += _PACKED_ih.pack(message.throttle_time_ms, message.error_code)
    tagged: list[tuple[int, bytearray]] = []
    if message.current_leader != _DEFAULT_CURRENT_LEADER:
        value = bytearray()
        _write_current_leader_v0(value, message.current_leader)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_RESPONSE_READERS: Final[tuple[Callable[[Buffer, int], tuple[UpdateRaftVoterResponse, int]], ...]] = (
    _read_update_raft_voter_response_v0,
)
_RESPONSE_WRITERS: Final[tuple[Callable[[bytearray, UpdateRaftVoterResponse], None], ...]] = (
    _write_update_raft_voter_response_v0,
)


def decode_response(buf: Buffer, version: int, pos: int = 0) -> UpdateRaftVoterResponse:
    if not 0 <= version <= 0:
        raise unsupported_version("UpdateRaftVoterResponse", version)
    try:
        return _RESPONSE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("UpdateRaftVoterResponse is cut short") from error


def encode_response_into(out: bytearray, message: UpdateRaftVoterResponse, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("UpdateRaftVoterResponse", version)
    try:
        _RESPONSE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"UpdateRaftVoterResponse holds a value out of range: {error}") from error


def encode_response(message: UpdateRaftVoterResponse, version: int) -> bytes:
    out = bytearray()
    encode_response_into(out, message, version)
    return bytes(out)
