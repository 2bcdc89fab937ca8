"""Decodes record batches directly to Arrow columns, with the schema of Spark's Kafka connector.

A field of all records is one Arrow array over the received bytes, whose offsets alternate between a value and the gap
after it; Arrow's `take` of every second element copies the values. So no record and no field becomes a Python object.

Columns: key binary, value binary, topic string, partition int, offset long, timestamp (microseconds, UTC),
timestampType int (0 set by the producer, 1 by the broker), and with headers a list of (key string, value binary), null
for a record that has none.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.arrow.varints import Bytes, Numbers, add_record_starts, read_varints
from penstock.client.batches import FoundBatch
from penstock.protocol.compression import DECOMPRESSED_BYTES_MAX
from penstock.protocol.records.batch import HEADER_SIZE, BatchHeader
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import records_of
from penstock.protocol.wire import Buffer

GROUP_BYTES: Final = 4 * 1024 * 1024
GROUP_RECORDS: Final = 65_536

_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
_FIELDS: Final = (
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", "UTC")),
    pa.field("timestampType", pa.int32()),
)
_HEADERS: Final = pa.field("headers", pa.list_(pa.field("element", _HEADER)))

SCHEMA: Final = pa.schema(_FIELDS)
SCHEMA_WITH_HEADERS: Final = pa.schema((*_FIELDS, _HEADERS))


class Group(NamedTuple):
    """Batches that become one Arrow batch: their buffer, and the span of the records of each."""

    data: Buffer
    headers: list[BatchHeader]
    spans: list[tuple[int, int]]


class ArrowDecoder:
    """Decodes the batches of one partition; caches the constant columns."""

    def __init__(self, topic: str, partition: int, schema: pa.Schema = SCHEMA) -> None:
        """`schema` has the wanted columns, some of `SCHEMA_WITH_HEADERS`; others are not decoded."""
        self._topic = topic
        self._partition = partition
        self._schema = schema
        self._constants: tuple[Any, Any] = (pa.array([], pa.string()), pa.array([], pa.int32()))

    def decode(
        self, records: Buffer, batches: Sequence[FoundBatch], first: int, end: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield the records from offset `first` to `end` (exclusive), in Arrow batches of bounded size."""
        for group in _grouped(records, batches):
            starts: list[int] = []
            for header, (start, stop) in zip(group.headers, group.spans, strict=True):
                add_record_starts(starts, group.data, start, stop, header.record_count)
            columns = _Columns(group, np.array(starts, np.int64))
            low, high = np.searchsorted(columns.offsets, (first, end))
            for at in range(int(low), int(high), GROUP_RECORDS):
                yield self._batch(columns, slice(at, min(at + GROUP_RECORDS, int(high))))

    def _batch(self, columns: "_Columns", rows: slice) -> pa.RecordBatch:
        count = rows.stop - rows.start
        if len(self._constants[0]) < count:
            self._constants = (
                pa.repeat(pa.scalar(self._topic, pa.string()), count),
                pa.repeat(pa.scalar(self._partition, pa.int32()), count),
            )
        made: dict[str, Callable[[], Any]] = {
            "key": lambda: columns.key(rows),
            "value": lambda: columns.value(rows),
            "topic": lambda: self._constants[0].slice(0, count),
            "partition": lambda: self._constants[1].slice(0, count),
            "offset": lambda: pa.array(columns.offsets[rows]),
            "timestamp": lambda: pa.array(columns.timestamps_us(rows), pa.timestamp("us", "UTC")),
            "timestampType": lambda: pa.array(columns.timestamp_types(rows)),
            "headers": lambda: columns.headers(rows),
        }
        return pa.RecordBatch.from_arrays([made[name]() for name in self._schema.names], schema=self._schema)


class _Columns:
    """The positions of the fields of all records of a group."""

    def __init__(self, group: Group, starts: Numbers) -> None:
        self._data = group.data
        self._bytes: Bytes = np.frombuffer(group.data, np.uint8)
        self._batches = group.headers
        counts = np.array([header.record_count for header in group.headers], np.int64)
        self._batch_of: Numbers = np.repeat(np.arange(len(counts)), counts)

        sizes, at = read_varints(self._bytes, starts)
        self._ends = at + sizes
        self._timestamp_deltas, at = read_varints(self._bytes, at + 1)  # one byte of attributes in between
        offset_deltas, at = read_varints(self._bytes, at)
        self._key_sizes, self._keys = read_varints(self._bytes, at)
        at = _after_field(self._keys, self._key_sizes, self._ends)
        self._value_sizes, self._values = read_varints(self._bytes, at)
        self._headers = _after_field(self._values, self._value_sizes, self._ends)
        self.offsets: Numbers = offset_deltas + self._repeated([h.base_offset for h in group.headers])

    def key(self, rows: slice) -> Any:
        return _binary(self._data, self._keys[rows], self._key_sizes[rows])

    def value(self, rows: slice) -> Any:
        return _binary(self._data, self._values[rows], self._value_sizes[rows])

    def timestamps_us(self, rows: slice) -> Numbers:
        base = self._repeated([h.base_timestamp for h in self._batches])[rows]
        timestamps = base + self._timestamp_deltas[rows]
        if any(header.is_log_append_time for header in self._batches):
            appended = self._repeated([h.max_timestamp for h in self._batches])[rows]
            timestamps = np.where(self.timestamp_types(rows) == 1, appended, timestamps)
        return timestamps * 1000

    def timestamp_types(self, rows: slice) -> Any:
        types = np.array([int(header.is_log_append_time) for header in self._batches], np.int32)
        return types[self._batch_of[rows]]

    def headers(self, rows: slice) -> Any:
        """Decode headers in rounds: the first of every record that has one, then the second, and so on."""
        counts, at = read_varints(self._bytes, self._headers[rows])
        ends = self._ends[rows]
        if (counts < 0).any() or (counts > ends - at).any():
            raise CorruptRecords("a record has an impossible number of headers")
        rounds: list[tuple[Numbers, ...]] = []
        left = np.flatnonzero(counts)
        number = 0
        while left.size:
            key_sizes, keys = read_varints(self._bytes, at[left])
            if (key_sizes < 0).any():
                raise CorruptRecords("a header without a key")
            value_sizes, values = read_varints(self._bytes, _after_field(keys, key_sizes, ends[left]))
            at[left] = _after_field(values, value_sizes, ends[left])
            rounds.append((left, keys, key_sizes, values, value_sizes))
            number += 1
            left = left[counts[left] > number]
        if (at != ends).any():
            raise CorruptRecords("a record does not end where its size says")
        return _header_lists(self._data, counts, rounds)

    def _repeated(self, values: list[int]) -> Numbers:
        of_batches: Numbers = np.array(values, np.int64)
        return of_batches[self._batch_of]


def _grouped(records: Buffer, batches: Sequence[FoundBatch]) -> Iterator[Group]:
    """Group batches in order, up to the limits; a larger batch forms a separate group."""
    group: list[FoundBatch] = []
    sections: list[bytes] = []  # decompressed records; empty if nothing is compressed
    size = count = 0
    for batch in batches:
        header = batch.header
        section = b""
        if header.is_compressed:
            section = records_of(records, batch.position, header, DECOMPRESSED_BYTES_MAX)
        batch_size = len(section) if header.is_compressed else header.size_bytes - HEADER_SIZE
        is_other_kind = bool(group) and header.is_compressed != bool(sections)
        is_full = size + batch_size > GROUP_BYTES or count + header.record_count > GROUP_RECORDS
        if group and (is_other_kind or is_full):
            yield _group(records, group, sections)
            group, sections, size, count = [], [], 0, 0
        group.append(batch)
        if header.is_compressed:
            sections.append(section)
        size += batch_size
        count += header.record_count
    if group:
        yield _group(records, group, sections)


def _group(records: Buffer, group: list[FoundBatch], sections: list[bytes]) -> Group:
    headers = [batch.header for batch in group]
    if not sections:
        spans = [(b.position + HEADER_SIZE, b.position + b.header.size_bytes) for b in group]
        return Group(records, headers, spans)
    ends = np.cumsum([len(section) for section in sections]).tolist()
    data = sections[0] if len(sections) == 1 else b"".join(sections)
    return Group(data, headers, list(zip([0, *ends[:-1]], ends, strict=True)))


def _after_field(starts: Numbers, sizes: Numbers, ends: Numbers) -> Numbers:
    """Return the ends of fields; check that they are within their records, because Arrow does not."""
    if (sizes > ends - starts).any():
        raise CorruptRecords("a record has a field that runs beyond its end")
    return starts + np.maximum(sizes, 0)


def _binary(data: Buffer, starts: Numbers, sizes: Numbers) -> Any:
    """Return an array of the bytes at each position; null where the size is negative. Positions must ascend."""
    count = len(starts)
    bounds = np.empty(2 * count + 1, np.int32)
    bounds[0:-1:2] = starts
    np.add(starts, np.maximum(sizes, 0), out=bounds[1:-1:2], casting="unsafe")
    bounds[-1] = bounds[-2] if count else 0
    validity = None
    null_count = int(np.count_nonzero(sizes < 0))
    if null_count:
        is_valid = np.ones(2 * count, np.bool_)
        is_valid[0::2] = sizes >= 0
        validity = pa.py_buffer(np.packbits(is_valid, bitorder="little").data)
    buffers = [validity, pa.py_buffer(bounds.data), pa.py_buffer(data)]
    both = pa.Array.from_buffers(pa.binary(), 2 * count, buffers, null_count=null_count)
    return both.take(np.arange(0, 2 * count, 2, dtype=np.int32))


def _header_lists(data: Buffer, counts: Numbers, rounds: list[tuple[Numbers, ...]]) -> Any:
    if rounds:
        owners, keys, key_sizes, values, value_sizes = (
            np.concatenate(parts) for parts in zip(*rounds, strict=True)
        )
        order = np.argsort(owners, kind="stable")  # the rounds of one record stay in their order
        key_array = _texts(data, keys[order], key_sizes[order])
        value_array = _binary(data, values[order], value_sizes[order])
    else:
        key_array, value_array = pa.array([], pa.string()), pa.array([], pa.binary())
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    elements = pa.StructArray.from_arrays([key_array, value_array], fields=list(_HEADER))
    bounds: Any = pa.array(offsets)
    has_none: Any = pa.array(counts == 0)
    return pa.ListArray.from_arrays(bounds, elements, type=_HEADERS.type, mask=has_none)


def _texts(data: Buffer, starts: Numbers, sizes: Numbers) -> Any:
    """Decode header keys. Like Java, replace bytes that are not UTF-8."""
    raw = _binary(data, starts, sizes)
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in raw.to_pylist()], pa.string())
