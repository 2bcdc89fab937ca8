"""Check the records of a batch without creating objects. Every produced batch is checked: this is the most expensive
loop of the broker. There are two paths, which accept exactly the same bytes: - by columns, while records repeat the
shape of the one before (same size, same field lengths): each structural byte is then a strided slice over the run,
compared in C; - record by record. The seven bytes that nearly always end with the size of the key are unpacked at once,
which costs as much as three index operations; varints of one and two bytes are decoded inline. No field is compared
with the end of its record while it is read: positions only grow, so it is enough that the last field ends where the
record ends.
"""

import struct

from penstock.protocol.records.errors import CorruptRecords

RECORD_BYTES_MIN = 7

_VARINT_BYTES_MAX = 5
_VARLONG_BYTES_MAX = 10
_RUN_RECORDS_MIN = 8
_FAILED_RUNS_MAX = 2
_RUN_HEADERS_MAX = 8
_INT64_MASK = 2**64 - 1

_SEVEN_BYTES = struct.Struct("7B")
_THREE_BYTES = struct.Struct("3B")

# Offset deltas as zigzag varints, by column: one byte for 0-63, two bytes for 64-8191.
_ONE_BYTE_DELTAS = bytes(range(0, 128, 2))
_TWO_BYTE_DELTAS_LOW = bytes(range(128, 256, 2)) * 128
_TWO_BYTE_DELTAS_HIGH = b"".join(bytes((high,)) * 64 for high in range(128))
# A one-byte zigzag value in an order that max() and min() understand: its signed value plus 64.
_SIGNED_PLUS_64 = bytes(((byte >> 1) ^ -(byte & 1)) + 64 for byte in range(128)) + bytes(128)
# 0 for the first byte of a two-byte zigzag value that is not negative, 1 for any other byte.
_IS_NOT_LOW_HALF = b"\x01" * 128 + b"\x00\x01" * 64


def walk_records(data: bytes, count: int) -> tuple[int, int, bool]:
    """Check every record of an uncompressed records section: structure, count, and offset deltas from 0 up.

    Returns the least and the greatest timestamp delta, and whether any key is null.
    """
    size_bytes = len(data)
    if count <= 0 or count * RECORD_BYTES_MIN > size_bytes:
        raise CorruptRecords(f"{count} records in {size_bytes} bytes")
    unpack_head = _SEVEN_BYTES.unpack_from
    unpack_three = _THREE_BYTES.unpack_from
    position = 0
    index = 0
    delta_min = 0
    delta_max = 0
    has_null_key = False
    last_zigzag = -1
    last_size = -1
    failed_runs = 0
    try:
        while index < count:
            start = position
            size, second, third, zigzag, low, high, key = unpack_head(data, position)
            if size < 0x80:
                zigzag, low, high, key = third, zigzag, low, high
                position += 3
            elif second < 0x80:
                size += (second << 7) - 0x80
                position += 4
            else:
                size, position = _read_varint(data, position, _VARINT_BYTES_MAX)
                position += 2
                zigzag = data[position - 1]
                low, high, key = unpack_three(data, position)
            if size & 1:
                raise CorruptRecords(f"record {index} has a negative size")
            end = position - 2 + (size >> 1)

            if zigzag >= 0x80:
                if low < 0x80:
                    zigzag += (low << 7) - 0x80
                    position += 1
                else:
                    zigzag, position = _read_varint(data, position - 1, _VARLONG_BYTES_MAX)
                low, high, key = unpack_three(data, position)
            if zigzag != last_zigzag:
                delta = (zigzag >> 1) ^ -(zigzag & 1)
                if last_zigzag < 0:
                    delta_min = delta_max = delta
                elif delta > delta_max:
                    delta_max = delta
                elif delta < delta_min:
                    delta_min = delta
                last_zigzag = zigzag

            if low < 0x80:
                key = high
                position += 2
            elif high < 0x80:
                low += (high << 7) - 0x80
                position += 3
            else:
                low, position = _read_varint(data, position, _VARINT_BYTES_MAX)
                key = data[position]
                position += 1
            if low != index + index:
                raise CorruptRecords(f"record {index} has an offset delta that is not its place in the batch")

            if key >= 0x80:
                key, position = _read_varint(data, position - 1, _VARINT_BYTES_MAX)
            if key & 1:
                has_null_key = True
            else:
                position += key >> 1

            value = data[position]
            position += 1
            if value >= 0x80:
                high = data[position]
                position += 1
                if high < 0x80:
                    value += (high << 7) - 0x80
                else:
                    value, position = _read_varint(data, position - 2, _VARINT_BYTES_MAX)
            if not value & 1:
                position += value >> 1

            if data[position]:
                position = _skip_headers(data, position, end)
            else:
                position += 1
            if position != end:
                raise CorruptRecords(f"record {index} does not end where its size says")
            index += 1

            if size != last_size:
                last_size = size
            elif failed_runs < _FAILED_RUNS_MAX and count - index >= _RUN_RECORDS_MIN:
                run, run_min, run_max = _walk_run(data, start, position, index, count)
                if run == 0:
                    failed_runs += 1
                    continue
                index += run
                position += run * (position - start)
                delta_min = min(delta_min, run_min)
                delta_max = max(delta_max, run_max)
    except (IndexError, struct.error):
        raise CorruptRecords(f"record {index} runs beyond the end of its batch") from None
    if position != size_bytes:
        raise CorruptRecords(f"{size_bytes - position} bytes after the last of {count} records")
    return delta_min, delta_max, has_null_key


def _walk_run(data: bytes, start: int, end: int, index: int, count: int) -> tuple[int, int, int]:
    """The number of records after `end` that repeat the shape of the valid record before it, and their timestamp
    deltas. `index` is that of the first record after `end`. 0 records if no run is found.
    """
    time_at = _after_varint(data, start) + 1
    offset_at = _after_varint(data, time_at)
    key_at = _after_varint(data, offset_at)
    constant_at = [*range(start, time_at - 1)]
    position = _add_columns(data, key_at, constant_at)
    position = _add_columns(data, position, constant_at)
    header_count, _ = _read_varint(data, position, _VARINT_BYTES_MAX)
    constant_at.extend(range(position, _after_varint(data, position)))
    if header_count >> 1 > _RUN_HEADERS_MAX or offset_at - time_at > 2:
        return 0, 0, 0
    position = _after_varint(data, position)
    for _ in range(header_count):  # zigzag: twice the count, so once for each key and each value
        position = _add_columns(data, position, constant_at)
    offset_width = key_at - offset_at
    if offset_width == 1 and index < 64:
        run = 64 - index
        offset_low = _ONE_BYTE_DELTAS
    elif offset_width == 2 and 64 <= index < 8192:
        run = 8192 - index
        offset_low = _TWO_BYTE_DELTAS_LOW
    else:
        return 0, 0, 0

    stride = end - start
    run = min(run, count - index, (len(data) - end) // stride)
    while run >= _RUN_RECORDS_MIN:
        stop = end + run * stride
        if _columns_repeat(data, constant_at, stop, stride, run) and (
            data[offset_at + stride : stop : stride] == offset_low[index : index + run]
            and (
                offset_width == 1
                or data[offset_at + 1 + stride : stop : stride] == _TWO_BYTE_DELTAS_HIGH[index : index + run]
            )
        ):
            deltas = _time_columns(data, time_at, offset_at - time_at, stop, stride)
            if deltas is not None:
                return run, deltas[0], deltas[1]
        run >>= 2  # the shape changes in between: try a shorter run before that
    return 0, 0, 0


def _add_columns(data: bytes, position: int, constant_at: list[int]) -> int:
    """Add the bytes of the size at `position` to the columns that must repeat; the position after its field."""
    size, after = _read_varint(data, position, _VARINT_BYTES_MAX)
    constant_at.extend(range(position, after))
    return after if size & 1 else after + (size >> 1)


def _columns_repeat(data: bytes, constant_at: list[int], stop: int, stride: int, run: int) -> bool:
    return all(data[at + stride : stop : stride] == data[at : at + 1] * run for at in constant_at)


def _time_columns(data: bytes, time_at: int, width: int, stop: int, stride: int) -> tuple[int, int] | None:
    """Least and greatest timestamp delta of a run; None when they are not all of `width` bytes."""
    low = data[time_at + stride : stop : stride]
    if width == 1:
        if not low.isascii():
            return None
        signed = low.translate(_SIGNED_PLUS_64)
        return min(signed) - 64, max(signed) - 64
    high = data[time_at + 1 + stride : stop : stride]
    if not high.isascii() or 1 in low.translate(_IS_NOT_LOW_HALF):
        return None
    pairs = list(zip(high, low, strict=True))
    high_min, low_min = min(pairs)
    high_max, low_max = max(pairs)
    return (high_min << 6) + ((low_min & 0x7F) >> 1), (high_max << 6) + ((low_max & 0x7F) >> 1)


def _skip_headers(data: bytes, position: int, end: int) -> int:
    count = data[position]
    position += 1
    if count >= 0x80:
        count, position = _read_varint(data, position - 1, _VARINT_BYTES_MAX)
    if count & 1 or count >> 1 > end - position:
        raise CorruptRecords("a record has an impossible number of headers")
    for _ in range(count >> 1):
        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = _read_varint(data, position - 1, _VARINT_BYTES_MAX)
        if size & 1:
            raise CorruptRecords("a header without a key")
        position += size >> 1
        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = _read_varint(data, position - 1, _VARINT_BYTES_MAX)
        if not size & 1:
            position += size >> 1
    return position


def _after_varint(data: bytes, position: int) -> int:
    while data[position] >= 0x80:
        position += 1
    return position + 1


def _read_varint(data: bytes, position: int, bytes_max: int) -> tuple[int, int]:
    """An unsigned varint (zigzag not undone), and the position after it. Beyond the data: IndexError."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    for width in range(1, bytes_max):
        byte = data[position + width]
        value |= (byte & 0x7F) << (7 * width)
        if byte < 0x80:
            return value & (
                0xFFFFFFFF if bytes_max == _VARINT_BYTES_MAX else _INT64_MASK
            ), position + width + 1
    raise CorruptRecords("a varint is too long")
