"""ShareUpdateKey and ShareUpdateValue.

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
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 1
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_i: Final = struct.Struct(">i")
_PACKED_iiq: Final = struct.Struct(">iiq")
_PACKED_qqbh: Final = struct.Struct(">qqbh")
_PACKED_ui: Final = struct.Struct(">16si")


class ShareUpdateKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    topic_id: bytes = ZERO_UUID
    partition: int = 0


class StateBatch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    first_offset: int = 0
    last_offset: int = 0
    delivery_state: int = 0
    delivery_count: int = 0


class ShareUpdateValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    snapshot_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = 0
    delivery_complete_count: int = -1
    state_batches: list[StateBatch] = []


def _read_share_update_key_v0(buf: Buffer, pos: int) -> tuple[ShareUpdateKey, int]:
    group_id, pos = read_string(buf, pos)
    topic_id, partition = _PACKED_ui.unpack_from(buf, pos)
    pos += 20
    return ShareUpdateKey(group_id=group_id, topic_id=topic_id, partition=partition), pos


def _write_share_update_key_v0(out: bytearray, message: ShareUpdateKey) -> None:
    write_string(out, message.group_id)
    out += _PACKED_ui.pack(message.topic_id, message.partition)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareUpdateKey, int]], ...]] = (
    _read_share_update_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ShareUpdateKey], None], ...]] = (
    _write_share_update_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ShareUpdateKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareUpdateKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareUpdateKey is cut short") from error


def encode_key_into(out: bytearray, message: ShareUpdateKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareUpdateKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareUpdateKey holds a value out of range: {error}") from error


def encode_key(message: ShareUpdateKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_state_batch_v0(buf: Buffer, pos: int) -> tuple[StateBatch, int]:
    first_offset, last_offset, delivery_state, delivery_count = _PACKED_qqbh.unpack_from(buf, pos)
    pos += 19
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    value = StateBatch(
        first_offset=first_offset,
        last_offset=last_offset,
        delivery_state=delivery_state,
        delivery_count=delivery_count,
    )
    return value, pos


def _write_state_batch_v0(out: bytearray, message: StateBatch) -> None:
    out += _PACKED_qqbh.pack(message.first_offset, message.last_offset, message.delivery_state, message.delivery_count)
    out.append(0)


def _read_share_update_value_v0(buf: Buffer, pos: int) -> tuple[ShareUpdateValue, int]:
    snapshot_epoch, leader_epoch, start_offset = _PACKED_iiq.unpack_from(buf, pos)
    pos += 16
    count, pos = read_compact_array_length(buf, pos, 20)
    state_batches: list[StateBatch] = []
    for _ in range(count):
        state_batches_item, pos = _read_state_batch_v0(buf, pos)
        state_batches.append(state_batches_item)
    delivery_complete_count: int = -1
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                delivery_complete_count = _PACKED_i.unpack_from(buf, pos)[0]
                pos += 4
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("ShareUpdateValue", tag)
    value = ShareUpdateValue(
        snapshot_epoch=snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        state_batches=state_batches,
        delivery_complete_count=delivery_complete_count,
    )
    return value, pos


def _write_share_update_value_v0(out: bytearray, message: ShareUpdateValue) -> None:
    out += _PACKED_iiq.pack(message.snapshot_epoch, message.leader_epoch, message.start_offset)
    state_batches = message.state_batches
    write_compact_array_length(out, len(state_batches))
    for state_batches_item in state_batches:
        _write_state_batch_v0(out, state_batches_item)
    tagged: list[tuple[int, bytearray]] = []
    if message.delivery_complete_count != -1:
        value = bytearray()
        value += _PACKED_i.pack(message.delivery_complete_count)
        tagged.append((0, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ShareUpdateValue, int]], ...]] = (
    _read_share_update_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ShareUpdateValue], None], ...]] = (
    _write_share_update_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ShareUpdateValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareUpdateValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ShareUpdateValue is cut short") from error


def encode_value_into(out: bytearray, message: ShareUpdateValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ShareUpdateValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ShareUpdateValue holds a value out of range: {error}") from error


def encode_value(message: ShareUpdateValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
