"""VotersRecord.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    ZERO_UUID,
    read_compact_array_length,
    read_compact_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_string,
)

VERSIONS: Final = range(0, 1)

_PACKED_H: Final = struct.Struct(">H")
_PACKED_h: Final = struct.Struct(">h")
_PACKED_hh: Final = struct.Struct(">hh")
_PACKED_iu: Final = struct.Struct(">i16s")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str = ""
    host: str = ""
    port: int = 0


class KRaftVersionFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    min_supported_version: int = 0
    max_supported_version: int = 0


class Voter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID
    endpoints: list[Endpoint] = []
    kraft_version_feature: KRaftVersionFeature = KRaftVersionFeature()


class VotersRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    version: int = 0
    voters: list[Voter] = []


def _read_endpoint_v0(buf: Buffer, pos: int) -> tuple[Endpoint, int]:
    name, pos = read_compact_string(buf, pos)
    host, pos = read_compact_string(buf, pos)
    port = _PACKED_H.unpack_from(buf, pos)[0]
    pos += 2
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Endpoint(name=name, host=host, port=port), pos


def _write_endpoint_v0(out: bytearray, message: Endpoint) -> None:
    write_compact_string(out, message.name)
    write_compact_string(out, message.host)
    out += _PACKED_H.pack(message.port)
    out.append(0)


def _read_kraft_version_feature_v0(buf: Buffer, pos: int) -> tuple[KRaftVersionFeature, int]:
    min_supported_version, max_supported_version = _PACKED_hh.unpack_from(buf, pos)
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = KRaftVersionFeature(
        min_supported_version=min_supported_version,
        max_supported_version=max_supported_version,
    )
    return value, pos


def _write_kraft_version_feature_v0(out: bytearray, message: KRaftVersionFeature) -> None:
    out += _PACKED_hh.pack(message.min_supported_version, message.max_supported_version)
    out.append(0)


def _read_voter_v0(buf: Buffer, pos: int) -> tuple[Voter, int]:
    voter_id, voter_directory_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    count, pos = read_compact_array_length(buf, pos, 5)
    endpoints: list[Endpoint] = []
    for _ in range(count):
        endpoints_item, pos = _read_endpoint_v0(buf, pos)
        endpoints.append(endpoints_item)
    kraft_version_feature, pos = _read_kraft_version_feature_v0(buf, pos)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = Voter(
        voter_id=voter_id,
        voter_directory_id=voter_directory_id,
        endpoints=endpoints,
        kraft_version_feature=kraft_version_feature,
    )
    return value, pos


def _write_voter_v0(out: bytearray, message: Voter) -> None:
    out += _PACKED_iu.pack(message.voter_id, message.voter_directory_id)
    endpoints = message.endpoints
    write_compact_array_length(out, len(endpoints))
    for endpoints_item in endpoints:
        _write_endpoint_v0(out, endpoints_item)
    _write_kraft_version_feature_v0(out, message.kraft_version_feature)
    out.append(0)


def _read_voters_record_v0(buf: Buffer, pos: int) -> tuple[VotersRecord, int]:
    version = _PACKED_h.unpack_from(buf, pos)[0]
    pos += 2
    count, pos = read_compact_array_length(buf, pos, 27)
    voters: list[Voter] = []
    for _ in range(count):
        voters_item, pos = _read_voter_v0(buf, pos)
        voters.append(voters_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return VotersRecord(version=version, voters=voters), pos


def _write_voters_record_v0(out: bytearray, message: VotersRecord) -> None:
    out += _PACKED_h.pack(message.version)
    voters = message.voters
    write_compact_array_length(out, len(voters))
    for voters_item in voters:
        _write_voter_v0(out, voters_item)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[VotersRecord, int]], ...]] = (
    _read_voters_record_v0,
)
_WRITERS: Final[tuple[Callable[[bytearray, VotersRecord], None], ...]] = (
    _write_voters_record_v0,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> VotersRecord:
    if not 0 <= version <= 0:
        raise unsupported_version("VotersRecord", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("VotersRecord is cut short") from error


def encode_into(out: bytearray, message: VotersRecord, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("VotersRecord", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"VotersRecord holds a value out of range: {error}") from error


def encode(message: VotersRecord, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
