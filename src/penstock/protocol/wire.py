"""Kafka's primitive types on the wire: the functions that the generated messages use.

Decoding functions take `(buf, pos)` and return `(value, pos)`; encoding functions append to a `bytearray`. A length is
always compared with the bytes that are left before anything is allocated, so that no frame can cost more memory than a
small multiple of its own size. Malformed bytes raise `ProtocolError`.

Integers are big-endian. Compact types (KIP-482) carry their length plus one as an unsigned varint, 0 being null;
the older types carry an int16 (strings) or an int32 (bytes, arrays), -1 being null.
"""

import struct
from typing import Final, TypeAlias, TypeVar

from penstock.protocol.errors import ProtocolError

Buffer: TypeAlias = bytes | bytearray | memoryview
RecordsBuffer: TypeAlias = bytes | bytearray | memoryview

ZERO_UUID: Final = bytes(16)

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_STRING_LENGTH_MAX: Final = 0x7FFF

T = TypeVar("T")


# --- failures -------------------------------------------------------------------------------------------------


def truncated(wanted: int, left: int) -> ProtocolError:
    return ProtocolError(f"{wanted} bytes are announced and {left} are left")


def null_in_non_nullable(what: str) -> ProtocolError:
    return ProtocolError(f"null {what} where the protocol allows none")


def unsupported_version(message: str, version: int) -> ProtocolError:
    return ProtocolError(f"{message} has no version {version}")


def unsupported_field(field: str, first: int, last: int) -> ProtocolError:
    """The version in use has no such field, and its value may not be dropped."""
    versions = f"version {first}" if first == last else f"versions {first}-{last}"
    return ProtocolError(f"{field} is set, which {versions} of the message cannot carry")


def wrong_tag_size(message: str, tag: int) -> ProtocolError:
    return ProtocolError(f"tagged field {tag} of {message} does not fill the size it announces")


def required(value: T | None, field: str) -> T:
    """The value, which is nullable in other versions of the message but not in the one being written."""
    if value is None:
        raise ProtocolError(f"{field} is null, which this version of the message cannot carry")
    return value


def required_records(value: RecordsBuffer | None, field: str) -> RecordsBuffer:
    """As `required`, for a union of types that mypy would otherwise widen."""
    if value is None:
        raise ProtocolError(f"{field} is null, which this version of the message cannot carry")
    return value


# --- varints and tagged fields --------------------------------------------------------------------------------


def read_uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """An unsigned 32-bit varint: at most five bytes."""
    try:
        byte = buf[pos]
        pos += 1
        if byte < 0x80:
            return byte, pos
        value = byte & 0x7F
        shift = 7
        while shift < 35:
            byte = buf[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
    except IndexError:
        raise ProtocolError("the frame ends inside a varint") from None
    if byte >= 0x80 or value > 0xFFFFFFFF:
        raise ProtocolError("a varint is longer than 32 bits")
    return value, pos


def write_uvarint(out: bytearray, value: int) -> None:
    if not 0 <= value <= 0xFFFFFFFF:
        raise ProtocolError(f"{value} does not fit an unsigned varint")
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def read_tag(buf: Buffer, pos: int) -> tuple[int, int, int]:
    """The head of one tagged field: its tag, and where its value starts and ends."""
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    end = pos + size
    if end > len(buf):
        raise truncated(size, len(buf) - pos)
    return tag, pos, end


def skip_tagged_fields(buf: Buffer, pos: int, budget: "Budget | None" = None) -> int:
    """Skip a section of unknown tagged fields."""
    if pos < len(buf) and not buf[pos]:
        return pos + 1  # as nearly always
    count, pos = read_uvarint(buf, pos)
    if budget is not None:
        budget.take(count)
    for _ in range(count):
        _tag, _start, pos = read_tag(buf, pos)
    return pos


def write_tagged_fields(out: bytearray, fields: list[tuple[int, bytearray]]) -> None:
    if not fields:
        out.append(0)
        return
    write_uvarint(out, len(fields))
    for tag, value in fields:
        write_uvarint(out, tag)
        write_uvarint(out, len(value))
        out += value


# --- strings --------------------------------------------------------------------------------------------------


def _too_long(size: int) -> ProtocolError:
    return ProtocolError(f"a string of {size} bytes is longer than {_STRING_LENGTH_MAX}")


def _text(buf: Buffer, pos: int, size: int) -> tuple[str, int]:
    end = pos + size
    if end > len(buf):
        raise truncated(size, len(buf) - pos)
    try:
        return str(buf[pos:end], "utf-8"), end
    except UnicodeDecodeError:
        raise ProtocolError("a string is not valid UTF-8") from None


def _int16(buf: Buffer, pos: int) -> int:
    try:
        value: int = _INT16.unpack_from(buf, pos)[0]
    except struct.error:
        raise truncated(2, len(buf) - pos) from None
    return value


def _int32(buf: Buffer, pos: int) -> int:
    try:
        value: int = _INT32.unpack_from(buf, pos)[0]
    except struct.error:
        raise truncated(4, len(buf) - pos) from None
    return value


def read_string(buf: Buffer, pos: int) -> tuple[str, int]:
    size = _int16(buf, pos)
    if size < 0:
        raise null_in_non_nullable("string")
    return _text(buf, pos + 2, size)


def read_nullable_string(buf: Buffer, pos: int) -> tuple[str | None, int]:
    size = _int16(buf, pos)
    if size < 0:
        if size < -1:
            raise ProtocolError(f"a string has length {size}")
        return None, pos + 2
    return _text(buf, pos + 2, size)


def read_compact_string(buf: Buffer, pos: int) -> tuple[str, int]:
    # The common case, a size of one byte, read without a call.
    if pos < len(buf) and 0 < buf[pos] < 0x80 and (end := pos + buf[pos]) <= len(buf):
        try:
            return str(buf[pos + 1 : end], "utf-8"), end
        except UnicodeDecodeError:
            raise ProtocolError("a string is not valid UTF-8") from None
    value, pos = read_compact_nullable_string(buf, pos)
    if value is None:
        raise null_in_non_nullable("string")
    return value, pos


def read_compact_nullable_string(buf: Buffer, pos: int) -> tuple[str | None, int]:
    # The most frequent field: its size is nearly always one byte, and is read without a call.
    try:
        size = buf[pos]
    except IndexError:
        raise truncated(1, 0) from None
    if size < 0x80:
        pos += 1
    else:
        size, pos = read_uvarint(buf, pos)
        if size > _STRING_LENGTH_MAX + 1:
            raise _too_long(size - 1)
    if size == 0:
        return None, pos
    end = pos + size - 1
    if end > len(buf):
        raise truncated(size - 1, len(buf) - pos)
    try:
        return str(buf[pos:end], "utf-8"), end
    except UnicodeDecodeError:
        raise ProtocolError("a string is not valid UTF-8") from None


def _encoded(value: str) -> bytes:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise ProtocolError("a string holds a lone surrogate, which UTF-8 cannot carry") from None
    if len(data) > _STRING_LENGTH_MAX:
        raise _too_long(len(data))
    return data


def write_string(out: bytearray, value: str) -> None:
    data = _encoded(value)
    out += _INT16.pack(len(data))
    out += data


def write_nullable_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out += b"\xff\xff"
    else:
        write_string(out, value)


def write_compact_string(out: bytearray, value: str) -> None:
    data = _encoded(value)
    if len(data) < 0x7F:
        out.append(len(data) + 1)
    else:
        write_uvarint(out, len(data) + 1)
    out += data


def write_compact_nullable_string(out: bytearray, value: str | None) -> None:
    if value is None:
        out.append(0)
    else:
        write_compact_string(out, value)


# --- bytes ----------------------------------------------------------------------------------------------------


def _span(buf: Buffer, pos: int, size: int) -> tuple[bytes, int]:
    end = pos + size
    if end > len(buf):
        raise truncated(size, len(buf) - pos)
    return bytes(buf[pos:end]), end


def read_bytes(buf: Buffer, pos: int) -> tuple[bytes, int]:
    size = _int32(buf, pos)
    if size < 0:
        raise null_in_non_nullable("bytes")
    return _span(buf, pos + 4, size)


def read_nullable_bytes(buf: Buffer, pos: int) -> tuple[bytes | None, int]:
    size = _int32(buf, pos)
    if size < 0:
        if size < -1:
            raise ProtocolError(f"bytes have length {size}")
        return None, pos + 4
    return _span(buf, pos + 4, size)


def read_compact_bytes(buf: Buffer, pos: int) -> tuple[bytes, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        raise null_in_non_nullable("bytes")
    return _span(buf, pos, size - 1)


def read_compact_nullable_bytes(buf: Buffer, pos: int) -> tuple[bytes | None, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        return None, pos
    return _span(buf, pos, size - 1)


def write_bytes(out: bytearray, value: Buffer) -> None:
    size = len(value)
    if size > 0x7FFFFFFF:
        raise ProtocolError(f"{size} bytes do not fit an int32 length")
    out += _INT32.pack(size)
    out += value


def write_nullable_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        out += b"\xff\xff\xff\xff"
    else:
        write_bytes(out, value)


def write_compact_bytes(out: bytearray, value: Buffer) -> None:
    write_uvarint(out, len(value) + 1)
    out += value


def write_compact_nullable_bytes(out: bytearray, value: Buffer | None) -> None:
    if value is None:
        out.append(0)
    else:
        write_compact_bytes(out, value)


# --- records: bytes that are not copied, neither out of a frame nor into one -----------------------------------


def _view(buf: Buffer, pos: int, size: int) -> tuple[memoryview, int]:
    end = pos + size
    if end > len(buf):
        raise truncated(size, len(buf) - pos)
    return memoryview(buf)[pos:end], end


def read_records(buf: Buffer, pos: int) -> tuple[memoryview, int]:
    size = _int32(buf, pos)
    if size < 0:
        raise null_in_non_nullable("records")
    return _view(buf, pos + 4, size)


def read_nullable_records(buf: Buffer, pos: int) -> tuple[memoryview | None, int]:
    size = _int32(buf, pos)
    if size < 0:
        if size < -1:
            raise ProtocolError(f"records have length {size}")
        return None, pos + 4
    return _view(buf, pos + 4, size)


def read_compact_records(buf: Buffer, pos: int) -> tuple[memoryview, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        raise null_in_non_nullable("records")
    return _view(buf, pos, size - 1)


def read_compact_nullable_records(buf: Buffer, pos: int) -> tuple[memoryview | None, int]:
    size, pos = read_uvarint(buf, pos)
    if size == 0:
        return None, pos
    return _view(buf, pos, size - 1)


class RecordsByReference(bytearray):
    """An output that refers to records instead of copying them. `buffers` gives the whole message.

    `records` is set by the caller: a constructor in Python would cost a tenth of a small response.
    """

    __slots__ = ("records",)
    records: list[tuple[int, Buffer]]
    """Records, each with the position in the output that they follow."""

    def buffers(self) -> list[Buffer]:
        """The buffers to be written one after the other. Nothing may be appended after this."""
        view = memoryview(self)
        buffers: list[Buffer] = []
        start = 0
        for position, records in self.records:
            buffers += (view[start:position], records)
            start = position
        if start < len(view):
            buffers.append(view[start:])
        return buffers


def write_records(out: bytearray, value: Buffer) -> None:
    write_nullable_records(out, value)


def write_nullable_records(out: bytearray, value: Buffer | None) -> None:
    if value and type(out) is RecordsByReference:
        out += _INT32.pack(len(value))
        out.records.append((len(out), value))
    else:
        write_nullable_bytes(out, value)


def write_compact_records(out: bytearray, value: Buffer) -> None:
    write_compact_nullable_records(out, value)


def write_compact_nullable_records(out: bytearray, value: Buffer | None) -> None:
    if value and type(out) is RecordsByReference:
        write_uvarint(out, len(value) + 1)
        out.records.append((len(out), value))
    else:
        write_compact_nullable_bytes(out, value)


# --- arrays ---------------------------------------------------------------------------------------------------

ELEMENTS_MAX: Final = 50_000
"""For all arrays of one request. An element may have a single byte, and takes microseconds of the event loop."""


class Budget:
    """How many elements and unknown tagged fields the rest of a request may have."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = ELEMENTS_MAX

    def take(self, count: int) -> None:
        """Count the elements of an array; -1 is a null array. Raises `ProtocolError` beyond the limit."""
        if count > 0:
            self.left -= count
            if self.left < 0:
                raise ProtocolError(
                    f"a request has more than {ELEMENTS_MAX} elements: split it into several requests"
                )


def _too_many(count: int, left: int) -> ProtocolError:
    return ProtocolError(f"an array of {count} elements cannot fit in the {left} bytes left")


def _checked_count(count: int, left: int, element_size_min: int) -> int:
    if count * element_size_min > left:
        raise _too_many(count, left)
    return count


def read_array_length(buf: Buffer, pos: int, element_size_min: int) -> tuple[int, int]:
    """How many elements follow, none of which can be shorter than `element_size_min` bytes."""
    count = _int32(buf, pos)
    if count < 0:
        raise null_in_non_nullable("array")
    pos += 4
    return _checked_count(count, len(buf) - pos, element_size_min), pos


def read_nullable_array_length(buf: Buffer, pos: int, element_size_min: int) -> tuple[int, int]:
    """As `read_array_length`, with -1 for a null array."""
    count = _int32(buf, pos)
    pos += 4
    if count < 0:
        if count < -1:
            raise ProtocolError(f"an array has length {count}")
        return -1, pos
    return _checked_count(count, len(buf) - pos, element_size_min), pos


def read_compact_array_length(buf: Buffer, pos: int, element_size_min: int) -> tuple[int, int]:
    count, pos = read_uvarint(buf, pos)
    if count == 0:
        raise null_in_non_nullable("array")
    if (count - 1) * element_size_min > len(buf) - pos:
        raise _too_many(count - 1, len(buf) - pos)
    return count - 1, pos


def read_compact_nullable_array_length(buf: Buffer, pos: int, element_size_min: int) -> tuple[int, int]:
    count, pos = read_uvarint(buf, pos)
    if count == 0:
        return -1, pos
    return _checked_count(count - 1, len(buf) - pos, element_size_min), pos


def write_array_length(out: bytearray, count: int) -> None:
    out += _INT32.pack(count)


def write_compact_array_length(out: bytearray, count: int) -> None:
    if count < 0x7F:
        out.append(count + 1)
    else:
        write_uvarint(out, count + 1)


def _numbers(buf: Buffer, pos: int, count: int, code: str, size: int) -> tuple[list[int], int]:
    end = pos + count * size
    if end > len(buf):
        raise truncated(count * size, len(buf) - pos)
    return list(struct.unpack_from(f">{count}{code}", buf, pos)), end


def read_int8s(buf: Buffer, pos: int, count: int) -> tuple[list[int], int]:
    return _numbers(buf, pos, count, "b", 1)


def read_int16s(buf: Buffer, pos: int, count: int) -> tuple[list[int], int]:
    return _numbers(buf, pos, count, "h", 2)


def read_int32s(buf: Buffer, pos: int, count: int) -> tuple[list[int], int]:
    return _numbers(buf, pos, count, "i", 4)


def read_int64s(buf: Buffer, pos: int, count: int) -> tuple[list[int], int]:
    return _numbers(buf, pos, count, "q", 8)


def read_uuids(buf: Buffer, pos: int, count: int) -> tuple[list[bytes], int]:
    end = pos + count * 16
    if end > len(buf):
        raise truncated(count * 16, len(buf) - pos)
    return [bytes(buf[at : at + 16]) for at in range(pos, end, 16)], end


def read_strings(buf: Buffer, pos: int, count: int) -> tuple[list[str], int]:
    values: list[str] = []
    for _ in range(count):
        value, pos = read_string(buf, pos)
        values.append(value)
    return values, pos


def read_compact_strings(buf: Buffer, pos: int, count: int) -> tuple[list[str], int]:
    values: list[str] = []
    for _ in range(count):
        value, pos = read_compact_string(buf, pos)
        values.append(value)
    return values, pos


def write_int8s(out: bytearray, values: list[int]) -> None:
    out += struct.pack(f">{len(values)}b", *values)


def write_int16s(out: bytearray, values: list[int]) -> None:
    out += struct.pack(f">{len(values)}h", *values)


def write_int32s(out: bytearray, values: list[int]) -> None:
    out += struct.pack(f">{len(values)}i", *values)


def write_int64s(out: bytearray, values: list[int]) -> None:
    out += struct.pack(f">{len(values)}q", *values)


def write_uuids(out: bytearray, values: list[bytes]) -> None:
    out += struct.pack(">" + "16s" * len(values), *values)


def write_strings(out: bytearray, values: list[str]) -> None:
    for value in values:
        write_string(out, value)


def write_compact_strings(out: bytearray, values: list[str]) -> None:
    for value in values:
        write_compact_string(out, value)
