"""Parses and writes Confluent's framing, which names the schema of a record's body. No I/O.

byte 0      magic, 0
bytes 1-4   id of the schema, big-endian
then        Protobuf only: message indexes, a count and that many numbers, all zigzag varints: the path of the message
            in its file, level by level. The path [0], which nearly all have, is written as the one byte 0.
then        the body
"""

from penstock.protocol.records.builder import encode_varint
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import read_varlong
from penstock.spark.decode.batch import Rejected

_HEADER_BYTES = 5
_INDEXES_MAX = 64


def split_frame(value: bytes) -> tuple[int, bytes]:
    if not value:
        raise Rejected("empty value")
    if value[0] != 0:
        raise Rejected(f"unknown magic byte {value[0]}: expected 0, as Confluent's serializers write it")
    if len(value) < _HEADER_BYTES:
        raise Rejected(f"truncated: {len(value)} bytes, and the framing alone has {_HEADER_BYTES}")
    return int.from_bytes(value[1:_HEADER_BYTES], "big"), value[_HEADER_BYTES:]


def split_indexes(rest: bytes) -> tuple[tuple[int, ...], bytes]:
    try:
        count, at = read_varlong(rest, 0, len(rest))
        if count == 0:
            return (0,), rest[at:]
        if not 0 < count <= _INDEXES_MAX:
            raise Rejected(f"not Confluent's framing: {count} message indexes")
        path = []
        for _ in range(count):
            index, at = read_varlong(rest, at, len(rest))
            path.append(index)
    except CorruptRecords:
        raise Rejected("truncated: the message indexes do not end") from None
    return tuple(path), rest[at:]


def frame_header(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(_HEADER_BYTES - 1, "big")


def indexes_header(path: tuple[int, ...]) -> bytes:
    if path == (0,):
        return b"\x00"
    return b"".join(map(encode_varint, (len(path), *path)))
