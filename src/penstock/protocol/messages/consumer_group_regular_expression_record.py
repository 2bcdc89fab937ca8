"""ConsumerGroupRegularExpressionKey and ConsumerGroupRegularExpressionValue.

Written by tools.codegen from Kafka's message definitions: change those or the generator, not this file.
"""

import struct
from collections.abc import Callable
from typing import Final

import msgspec

from penstock.protocol.errors import ProtocolError
from penstock.protocol.wire import (
    Buffer,
    read_compact_array_length,
    read_compact_strings,
    read_string,
    skip_tagged_fields,
    unsupported_version,
    write_compact_array_length,
    write_compact_strings,
    write_string,
)

RECORD_TYPE: Final = 16
KEY_VERSIONS: Final = range(0, 1)
VALUE_VERSIONS: Final = range(0, 1)

_PACKED_qq: Final = struct.Struct(">qq")


class ConsumerGroupRegularExpressionKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    group_id: str = ""
    regular_expression: str = ""


class ConsumerGroupRegularExpressionValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    topics: list[str] = []
    version: int = 0
    timestamp: int = 0


def _read_consumer_group_regular_expression_key_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupRegularExpressionKey, int]:
    group_id, pos = read_string(buf, pos)
    regular_expression, pos = read_string(buf, pos)
    value = ConsumerGroupRegularExpressionKey(
        group_id=group_id,
        regular_expression=regular_expression,
    )
    return value, pos


def _write_consumer_group_regular_expression_key_v0(out: bytearray, message: ConsumerGroupRegularExpressionKey) -> None:
    write_string(out, message.group_id)
    write_string(out, message.regular_expression)


_KEY_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupRegularExpressionKey, int]], ...]] = (
    _read_consumer_group_regular_expression_key_v0,
)
_KEY_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupRegularExpressionKey], None], ...]] = (
    _write_consumer_group_regular_expression_key_v0,
)


def decode_key(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupRegularExpressionKey:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupRegularExpressionKey", version)
    try:
        return _KEY_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupRegularExpressionKey is cut short") from error


def encode_key_into(out: bytearray, message: ConsumerGroupRegularExpressionKey, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupRegularExpressionKey", version)
    try:
        _KEY_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupRegularExpressionKey holds a value out of range: {error}") from error


def encode_key(message: ConsumerGroupRegularExpressionKey, version: int) -> bytes:
    out = bytearray()
    encode_key_into(out, message, version)
    return bytes(out)


def _read_consumer_group_regular_expression_value_v0(buf: Buffer, pos: int) -> tuple[ConsumerGroupRegularExpressionValue, int]:
    count, pos = read_compact_array_length(buf, pos, 1)
    topics, pos = read_compact_strings(buf, pos, count)
    version, timestamp = _PACKED_qq.unpack_from(buf, pos)
    pos += 16
    if buf[pos] == 0:
        pos += 1
    else:
        pos = skip_tagged_fields(buf, pos)
    return ConsumerGroupRegularExpressionValue(topics=topics, version=version, timestamp=timestamp), pos


def _write_consumer_group_regular_expression_value_v0(out: bytearray, message: ConsumerGroupRegularExpressionValue) -> None:
    topics = message.topics
    write_compact_array_length(out, len(topics))
    write_compact_strings(out, topics)
    out += _PACKED_qq.pack(message.version, message.timestamp)
    out.append(0)


_VALUE_READERS: Final[tuple[Callable[[Buffer, int], tuple[ConsumerGroupRegularExpressionValue, int]], ...]] = (
    _read_consumer_group_regular_expression_value_v0,
)
_VALUE_WRITERS: Final[tuple[Callable[[bytearray, ConsumerGroupRegularExpressionValue], None], ...]] = (
    _write_consumer_group_regular_expression_value_v0,
)


def decode_value(buf: Buffer, version: int, pos: int = 0) -> ConsumerGroupRegularExpressionValue:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupRegularExpressionValue", version)
    try:
        return _VALUE_READERS[version](buf, pos)[0]
    except (IndexError, struct.error) as error:
        raise ProtocolError("ConsumerGroupRegularExpressionValue is cut short") from error


def encode_value_into(out: bytearray, message: ConsumerGroupRegularExpressionValue, version: int) -> None:
    if not 0 <= version <= 0:
        raise unsupported_version("ConsumerGroupRegularExpressionValue", version)
    try:
        _VALUE_WRITERS[version](out, message)
    except struct.error as error:
        raise ProtocolError(f"ConsumerGroupRegularExpressionValue holds a value out of range: {error}") from error


def encode_value(message: ConsumerGroupRegularExpressionValue, version: int) -> bytes:
    out = bytearray()
    encode_value_into(out, message, version)
    return bytes(out)
