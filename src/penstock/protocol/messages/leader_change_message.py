"""LeaderChangeMessage.

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
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_compact_array_length,
)

VERSIONS: Final = range(0, 2)

_PACKED_hi: Final = struct.Struct(">hi")
_PACKED_i: Final = struct.Struct(">i")
_PACKED_iu: Final = struct.Struct(">i16s")


class Voter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    voter_id: int = 0
    voter_directory_id: bytes = ZERO_UUID


class LeaderChangeMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    version: int = 0
    leader_id: int = 0
    voters: list[Voter] = []
    granting_voters: list[Voter] = []


def _read_voter_v0(buf: Buffer, pos: int) -> tuple[Voter, int]:
    voter_id = _PACKED_i.unpack_from(buf, pos)[0]
    pos += 4
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Voter(voter_id=voter_id), pos


def _write_voter_v0(out: bytearray, message: Voter) -> None:
    if message.voter_directory_id != ZERO_UUID:
        raise unsupported_field("Voter.voter_directory_id", 0, 0)
    out += _PACKED_i.pack(message.voter_id)
    out.append(0)


def _read_voter_v1(buf: Buffer, pos: int) -> tuple[Voter, int]:
    voter_id, voter_directory_id = _PACKED_iu.unpack_from(buf, pos)
    pos += 20
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return Voter(voter_id=voter_id, voter_directory_id=voter_directory_id), pos


def _write_voter_v1(out: bytearray, message: Voter) -> None:
    out += _PACKED_iu.pack(message.voter_id, message.voter_directory_id)
    out.append(0)


def _read_leader_change_message_v0(buf: Buffer, pos: int) -> tuple[LeaderChangeMessage, int]:
    version, leader_id = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 5)
    voters: list[Voter] = []
    for _ in range(count):
        voters_item, pos = _read_voter_v0(buf, pos)
        voters.append(voters_item)
    count, pos = read_compact_array_length(buf, pos, 5)
    granting_voters: list[Voter] = []
    for _ in range(count):
        granting_voters_item, pos = _read_voter_v0(buf, pos)
        granting_voters.append(granting_voters_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = LeaderChangeMessage(
        version=version,
        leader_id=leader_id,
        voters=voters,
        granting_voters=granting_voters,
    )
    return value, pos


def _write_leader_change_message_v0(out: bytearray, message: LeaderChangeMessage) -> None:
    out += _PACKED_hi.pack(message.version, message.leader_id)
    voters = message.voters
    write_compact_array_length(out, len(voters))
    for voters_item in voters:
        _write_voter_v0(out, voters_item)
    granting_voters = message.granting_voters
    write_compact_array_length(out, len(granting_voters))
    for granting_voters_item in granting_voters:
        _write_voter_v0(out, granting_voters_item)
    out.append(0)


def _read_leader_change_message_v1(buf: Buffer, pos: int) -> tuple[LeaderChangeMessage, int]:
    version, leader_id = _PACKED_hi.unpack_from(buf, pos)
    pos += 6
    count, pos = read_compact_array_length(buf, pos, 21)
    voters: list[Voter] = []
    for _ in range(count):
        voters_item, pos = _read_voter_v1(buf, pos)
        voters.append(voters_item)
    count, pos = read_compact_array_length(buf, pos, 21)
    granting_voters: list[Voter] = []
    for _ in range(count):
        granting_voters_item, pos = _read_voter_v1(buf, pos)
        granting_voters.append(granting_voters_item)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = LeaderChangeMessage(
        version=version,
        leader_id=leader_id,
        voters=voters,
        granting_voters=granting_voters,
    )
    return value, pos


def _write_leader_change_message_v1(out: bytearray, message: LeaderChangeMessage) -> None:
    out += _PACKED_hi.pack(message.version, message.leader_id)
    voters = message.voters
    write_compact_array_length(out, len(voters))
    for voters_item in voters:
        _write_voter_v1(out, voters_item)
    granting_voters = message.granting_voters
    write_compact_array_length(out, len(granting_voters))
    for granting_voters_item in granting_voters:
        _write_voter_v1(out, granting_voters_item)
    out.append(0)


_READERS: Final[tuple[Callable[[Buffer, int], tuple[LeaderChangeMessage, int]], ...]] = (
    _read_leader_change_message_v0,
    _read_leader_change_message_v1,
)
_WRITERS: Final[tuple[Callable[[bytearray, LeaderChangeMessage], None], ...]] = (
    _write_leader_change_message_v0,
    _write_leader_change_message_v1,
)


def decode(buf: Buffer, version: int, pos: int = 0) -> LeaderChangeMessage:
    if not 0 <= version <= 1:
        raise unsupported_version("LeaderChangeMessage", version)
    try:
        return _READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("LeaderChangeMessage is cut short") from error


def encode_into(out: bytearray, message: LeaderChangeMessage, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("LeaderChangeMessage", version)
    try:
        _WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"LeaderChangeMessage holds a value out of range: {error}") from error


def encode(message: LeaderChangeMessage, version: int) -> bytes:
    out = bytearray()
    encode_into(out, message, version)
    return bytes(out)
