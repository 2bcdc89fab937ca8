"""Parses Confluent's framing, which names the schema of a record's body. Pure.

byte 0      magic, 0
bytes 1-4   id of the schema, big-endian
then        Protobuf only: message indexes, a count and so many numbers, all zigzag varints: the path of the message
            in its file, level by level. The path [0], which nearly all have, is written as the one byte 0.
then        the body
"""

from penstock.spark.decode.batch import Rejected

_HEADER_BYTES = 5
_VARINT_BITS_MAX = 35
_INDEXES_MAX = 64


def split_frame(value: bytes) -> tuple[int, bytes]:
    """Return the schema's id and the rest of the value."""
    if not value:
        raise Rejected("empty value")
    if value[0] != 0:
        raise Rejected(f"unknown magic byte {value[0]}: expected 0, as Confluent's serializers write it")
    if len(value) < _HEADER_BYTES:
        raise Rejected(f"truncated: {len(value)} bytes, and the framing alone has {_HEADER_BYTES}")
    return int.from_bytes(value[1:_HEADER_BYTES], "big"), value[_HEADER_BYTES:]


def split_indexes(rest: bytes) -> tuple[tuple[int, ...], bytes]:
    """Return the indexes of a Protobuf message in its file, and the body."""
    count, at = _zigzag(rest, 0)
    if count == 0:
        return (0,), rest[at:]
    if not 0 < count <= _INDEXES_MAX:
        raise Rejected(f"not Confluent's framing: {count} message indexes")
    path = []
    for _ in range(count):
        index, at = _zigzag(rest, at)
        path.append(index)
    return tuple(path), rest[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data):
            raise Rejected("truncated: the value ends within the message indexes")
        if shift >= _VARINT_BITS_MAX:
            raise Rejected("not Confluent's framing: a message index is too long")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
