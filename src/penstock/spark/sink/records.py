"""Encodes the records of one batch: the hot loop of the sink.

It writes the same bytes as `protocol.records.builder`, three times as fast for the common case: rows without headers,
of one timestamp, short enough for a table of encoded lengths.
"""

from collections.abc import Sequence
from typing import Final

from penstock.protocol.compression import Codec, compress
from penstock.protocol.records.batch import HEADER_SIZE, NO_LEADER_EPOCH, TRANSACTIONAL_FLAG
from penstock.protocol.records.builder import assemble_batch, encode_record, encode_varint
from penstock.spark.sink.columns import Headers
from penstock.spark.sink.decision import Producer

_TABLE_SIZE: Final = 1 << 13
_VARINTS: Final = [encode_varint(value) for value in range(_TABLE_SIZE)]
_NULL: Final = encode_varint(-1)
_NO_HEADERS: Final = encode_varint(0)


class BatchRecords:
    __slots__ = ("_base_timestamp", "_max_timestamp", "_parts", "_size_bytes")

    def __init__(self, timestamp_ms: int) -> None:
        self._base_timestamp = timestamp_ms
        self._max_timestamp = timestamp_ms
        self._parts: list[bytes] = []
        self._size_bytes = HEADER_SIZE

    def __len__(self) -> int:
        return len(self._parts)

    def take(
        self,
        rows: Sequence[int],
        start: int,
        columns: tuple[Sequence[bytes | None], Sequence[bytes | None], Sequence[Headers] | None],
        *,
        timestamp_ms: int,
        batch_bytes: int,
    ) -> int:
        """Add rows (indexes of the columns) from `start` on; return the first that does not fit. One always fits."""
        keys, values, headers = columns
        self._max_timestamp = max(self._max_timestamp, timestamp_ms)
        delta = timestamp_ms - self._base_timestamp
        prefix = b"\x00" + encode_varint(delta)
        parts, size_bytes = self._parts, self._size_bytes
        offset = len(parts)
        position = start
        for position in range(start, len(rows)):
            row = rows[position]
            key, value = keys[row], values[row]
            if headers is not None and headers[row]:
                encoded = encode_record(delta, offset, key, value, headers[row])
            else:
                key_size = _NULL if key is None else _varint(len(key))
                value_size = _NULL if value is None else _varint(len(value))
                body = b"".join(
                    (prefix, _varint(offset), key_size, key or b"", value_size, value or b"", _NO_HEADERS)
                )
                encoded = _varint(len(body)) + body
            if size_bytes + len(encoded) > batch_bytes and offset:
                break
            parts.append(encoded)
            size_bytes += len(encoded)
            offset += 1
        else:
            position = len(rows)
        self._size_bytes = size_bytes
        return position

    def seal(
        self,
        *,
        codec: Codec,
        level: int | None,
        producer: Producer,
        base_sequence: int,
        is_transactional: bool,
    ) -> bytes:
        section = b"".join(self._parts)
        return assemble_batch(
            section if codec is Codec.NONE else compress(codec, section, level),
            base_offset=0,
            leader_epoch=NO_LEADER_EPOCH,
            attributes=int(codec) | (TRANSACTIONAL_FLAG if is_transactional else 0),
            last_offset_delta=len(self._parts) - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=base_sequence,
            record_count=len(self._parts),
        )


def _varint(value: int) -> bytes:
    return _VARINTS[value] if value < _TABLE_SIZE else encode_varint(value)
