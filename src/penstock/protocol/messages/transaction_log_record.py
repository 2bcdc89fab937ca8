"""TransactionLogKey and TransactionLogValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_array_length,
    read_compact_array_length,
    read_compact_nullable_array_length,
    read_compact_string,
    read_int32s,
    read_nullable_array_length,
    read_string,
    read_tag,
    read_uvarint,
    skip_tagged_fields,
    unsupported_field,
    unsupported_version,
    write_array_length,
    write_compact_array_length,
    write_compact_string,
    write_int32s,
    write_string,
    write_tagged_fields,
    wrong_tag_size,
)

RECORD_TYPE: Final = 0
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 2)

_PACKED_h: Final = struct.Struct(">h")
_PACKED_q: Final = struct.Struct(">q")
_PACKED_qhib: Final = struct.Struct(">qhib")
_PACKED_qq: Final = struct.Struct(">qq")


class TransactionLogKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    transactional_id: str = ""


class PartitionsSchema(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topic: str = ""
    partition_ids: list[int] = []


class TransactionLogValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    producer_id: int = 0
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = 0
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = []
    transaction_last_update_timestamp_ms: int = 0
    transaction_start_timestamp_ms: int = 0
    client_transaction_version: int = 0


def _read_transaction_log_key_v0(buf: Buffer, pos: int) -> tuple[TransactionLogKey, int]:
    transactional_id, pos = read_string(buf, pos)
    return TransactionLogKey(transactional_id=transactional_id), pos


def _write_transaction_log_key_v0(out: bytearray, message: TransactionLogKey) -> None:
    write_string(out, message.transactional_id)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[TransactionLogKey, int]], ...]] = (
    _read_transaction_log_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, TransactionLogKey], None], ...]] = (
    _write_transaction_log_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> TransactionLogKey:
    if not 0 <= version <= 0:
        raise unsupported_version("TransactionLogKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("TransactionLogKey is cut short") from error


def encode_key_into(out: bytearray, message: TransactionLogKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("TransactionLogKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"TransactionLogKey holds a value out of range: {error}") from error


def encode_key(message: TransactionLogKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_partitions_schema_v0(buf: Buffer, pos: int) -> tuple[PartitionsSchema, int]:
    topic, pos = read_string(buf, pos)
    count, pos = read_array_length(buf, pos, 4)
    partition_ids, pos = read_int32s(buf, pos, count)
    return PartitionsSchema(topic=topic, partition_ids=partition_ids), pos


def _write_partitions_schema_v0(out: bytearray, message: PartitionsSchema) -> None:
    write_string(out, message.topic)
    partition_ids = message.partition_ids
    write_array_length(out, len(partition_ids))
    write_int32s(out, partition_ids)


def _read_partitions_schema_v1(buf: Buffer, pos: int) -> tuple[PartitionsSchema, int]:
    topic, pos = read_compact_string(buf, pos)
    count, pos = read_compact_array_length(buf, pos, 4)
    partition_ids, pos = read_int32s(buf, pos, count)
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return PartitionsSchema(topic=topic, partition_ids=partition_ids), pos


def _write_partitions_schema_v1(out: bytearray, message: PartitionsSchema) -> None:
    write_compact_string(out, message.topic)
    partition_ids = message.partition_ids
    write_compact_array_length(out, len(partition_ids))
    write_int32s(out, partition_ids)
    out.append(0)


def _read_transaction_log_value_v0(buf: Buffer, pos: int) -> tuple[TransactionLogValue, int]:
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status = _PACKED_qhib.unpack_from(buf, pos)
    pos += 15
    count, pos = read_nullable_array_length(buf, pos, 6)
    transaction_partitions: list[PartitionsSchema] | None = None
    if count >= 0:
        transaction_partitions = []
        for _ in range(count):
            transaction_partitions_item, pos = _read_partitions_schema_v0(buf, pos)
            transaction_partitions.append(transaction_partitions_item)
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    value = TransactionLogValue(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_timeout_ms=transaction_timeout_ms,
        transaction_status=transaction_status,
        transaction_partitions=transaction_partitions,
        transaction_last_update_timestamp_ms=transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms=transaction_start_timestamp_ms,
    )
    return value, pos


def _write_transaction_log_value_v0(out: bytearray, message: TransactionLogValue) -> None:
    if message.previous_producer_id != -1:
        raise unsupported_field("TransactionLogValue.previous_producer_id", 0, 0)
    if message.next_producer_id != -1:
        raise unsupported_field("TransactionLogValue.next_producer_id", 0, 0)
    if message.next_producer_epoch != -1:
        raise unsupported_field("TransactionLogValue.next_producer_epoch", 0, 0)
    if message.client_transaction_version != 0:
        raise unsupported_field("TransactionLogValue.client_transaction_version", 0, 0)
    out += _PACKED_qhib.pack(message.producer_id, message.producer_epoch, message.transaction_timeout_ms, message.transaction_status)
    transaction_partitions = message.transaction_partitions
    if transaction_partitions is None:
        write_array_length(out, -1)
    else:
        write_array_length(out, len(transaction_partitions))
        for transaction_partitions_item in transaction_partitions:
            _write_partitions_schema_v0(out, transaction_partitions_item)
    out += _PACKED_qq.pack(message.transaction_last_update_timestamp_ms, message.transaction_start_timestamp_ms)


def _read_transaction_log_value_v1(buf: Buffer, pos: int) -> tuple[TransactionLogValue, int]:
    producer_id, producer_epoch, transaction_timeout_ms, transaction_status = _PACKED_qhib.unpack_from(buf, pos)
    pos += 15
    count, pos = read_compact_nullable_array_length(buf, pos, 3)
    transaction_partitions: list[PartitionsSchema] | None = None
    if count >= 0:
        transaction_partitions = []
        for _ in range(count):
            transaction_partitions_item, pos = _read_partitions_schema_v1(buf, pos)
            transaction_partitions.append(transaction_partitions_item)
    transaction_last_update_timestamp_ms, transaction_start_timestamp_ms = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1
    if buf[pos] == 0:
        pos += 1
    else:
        count, pos = read_uvarint(buf, pos)
        for _ in range(count):
            tag, pos, end = read_tag(buf, pos)
            if tag == 0:
                previous_producer_id = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            elif tag == 1:
                next_producer_id = _PACKED_q.unpack_from(buf, pos)[0]
                pos += 8
            elif tag == 2:
                client_transaction_version = _PACKED_h.unpack_from(buf, pos)[0]
                pos += 2
            elif tag == 3:
                next_producer_epoch = _PACKED_h.unpack_from(buf, pos)[0]
                pos += 2
            else:
                pos = end
            if pos != end:
                raise wrong_tag_size("TransactionLogValue", tag)
    value = TransactionLogValue(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_timeout_ms=transaction_timeout_ms,
        transaction_status=transaction_status,
        transaction_partitions=transaction_partitions,
        transaction_last_update_timestamp_ms=transaction_last_update_timestamp_ms,
        transaction_start_timestamp_ms=transaction_start_timestamp_ms,
        previous_producer_id=previous_producer_id,
        next_producer_id=next_producer_id,
        client_transaction_version=client_transaction_version,
        next_producer_epoch=next_producer_epoch,
    )
    return value, pos


def _write_transaction_log_value_v1(out: bytearray, message: TransactionLogValue) -> None:
    out += _PACKED_qhib.pack(message.producer_id, message.producer_epoch, message.transaction_timeout_ms, message.transaction_status)
    transaction_partitions = message.transaction_partitions
    if transaction_partitions is None:
        write_compact_array_length(out, -1)
    else:
        write_compact_array_length(out, len(transaction_partitions))
        for transaction_partitions_item in transaction_partitions:
            _write_partitions_schema_v1(out, transaction_partitions_item)
    out += _PACKED_qq.pack(message.transaction_last_update_timestamp_ms, message.transaction_start_timestamp_ms)
    tagged: list[tuple[int, bytearray]] = []
    if message.previous_producer_id != -1:
        value = bytearray()
        value += _PACKED_q.pack(message.previous_producer_id)
        tagged.append((0, value))
    if message.next_producer_id != -1:
        value = bytearray()
        value += _PACKED_q.pack(message.next_producer_id)
        tagged.append((1, value))
    if message.client_transaction_version != 0:
        value = bytearray()
        value += _PACKED_h.pack(message.client_transaction_version)
        tagged.append((2, value))
    if message.next_producer_epoch != -1:
        value = bytearray()
        value += _PACKED_h.pack(message.next_producer_epoch)
        tagged.append((3, value))
    write_tagged_fields(out, tagged)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[TransactionLogValue, int]], ...]] = (
    _read_transaction_log_value_v0,
    _read_transaction_log_value_v1,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, TransactionLogValue], None], ...]] = (
    _write_transaction_log_value_v0,
    _write_transaction_log_value_v1,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> TransactionLogValue:
    if not 0 <= version <= 1:
        raise unsupported_version("TransactionLogValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("TransactionLogValue is cut short") from error


def encode_value_into(out: bytearray, message: TransactionLogValue, version: int) -> None:
    if not 0 <= version <= 1:
        raise unsupported_version("TransactionLogValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"TransactionLogValue holds a value out of range: {error}") from error


def encode_value(message: TransactionLogValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
