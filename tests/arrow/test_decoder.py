"""Record batches as Arrow columns, against the decoder that makes records one by one."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.arrow import decoder as arrow
from penstock.arrow.decoder import SCHEMA, SCHEMA_WITH_HEADERS, ArrowDecoder
from penstock.client.batches import FoundBatch, wanted_batches
from penstock.protocol.compression import Codec
from penstock.protocol.records.builder import BatchBuilder
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import Record, decode_records
from penstock.spark.options import Options
from penstock.spark.source.readers import schema_of

Given = tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
END = 2**62


def build(records: Sequence[Given], base_offset: int = 0, codec: Codec = Codec.NONE, **how: Any) -> bytes:
    builder = BatchBuilder(base_offset)
    for key, value, timestamp, headers in records:
        builder.append(key, value, headers, timestamp=timestamp)
    return builder.build(codec=codec, **how)


def decode(
    data: bytes, first: int = 0, end: int = END, *, headers: bool = True
) -> tuple[list[dict[str, Any]], list[pa.RecordBatch]]:
    view = memoryview(bytearray(data))
    decoder = ArrowDecoder("events", 3, SCHEMA_WITH_HEADERS if headers else SCHEMA)
    batches = list(decoder.decode(view, wanted_batches(view, first, end, None), first, end))
    return [row for batch in batches for row in batch.to_pylist()], batches


def expected(record: Record, timestamp_type: int = 0) -> dict[str, Any]:
    headers = [{"key": key, "value": value} for key, value in record.headers]
    return {
        "key": record.key,
        "value": record.value,
        "topic": "events",
        "partition": 3,
        "offset": record.offset,
        "timestamp": EPOCH + dt.timedelta(milliseconds=record.timestamp),
        "timestampType": timestamp_type,
        "headers": headers or None,
    }


BYTES = st.none() | st.binary(max_size=200) | st.sampled_from([b"x" * 63, b"x" * 64, b"y" * 9000])
RECORD = st.tuples(
    BYTES,
    BYTES,
    st.integers(0, 2**41) | st.integers(1_700_000_000_000, 1_700_000_000_100),
    st.lists(st.tuples(st.text(max_size=10), BYTES), max_size=3),
)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(RECORD, min_size=1, max_size=80), st.sampled_from(list(Codec))),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 150),
    st.integers(0, 300),
)
def test_columns_hold_what_the_records_hold(
    batches: list[tuple[list[Given], Codec]], first: int, size: int
) -> None:
    data = b""
    records: list[Record] = []
    for given_records, codec in batches:
        built = build(given_records, base_offset=len(records), codec=codec)
        records += decode_records(built)
        data += built
    rows, _ = decode(data, first, first + size)
    assert rows == [expected(record) for record in records if first <= record.offset < first + size]


def test_the_schema_is_exactly_the_one_that_spark_expects() -> None:
    record: Given = (b"k", b"v", 1, [("h", b"x")])
    for includes in (True, False):
        declared = to_arrow_schema(schema_of(Options({"includeHeaders": str(includes)})), timezone="UTC")
        _, [batch] = decode(build([record]), headers=includes)
        assert declared.equals(batch.schema)
        batch.validate(full=True)


def test_timestamps_may_be_the_brokers() -> None:
    created = build([(None, b"a", 1000, []), (None, b"b", 1001, [])])
    appended = build([(None, b"c", 1, [])], base_offset=2, append_timestamp=5000)
    rows, _ = decode(created + appended)
    assert [(row["timestampType"], (row["timestamp"] - EPOCH).total_seconds()) for row in rows] == [
        (0, 1.0),
        (0, 1.001),
        (1, 5.0),
    ]


def test_a_record_without_a_timestamp_is_a_millisecond_before_the_epoch() -> None:
    rows, _ = decode(build([(None, None, -1, [])]))
    assert rows[0]["timestamp"] == EPOCH - dt.timedelta(milliseconds=1)


def test_gaps_between_offsets_are_normal() -> None:
    builder = BatchBuilder(100)
    for offset in (100, 105, 250):
        builder.append(None, b"%d" % offset, timestamp=0, offset=offset)
    rows, _ = decode(builder.build(), first=103, end=250)
    assert [row["offset"] for row in rows] == [105]


def test_a_megabyte_and_an_empty_value_pass_beside_one_another() -> None:
    large = bytes(range(256)) * 4096
    rows, _ = decode(build([(b"", b"", 0, []), (b"k", large, 0, []), (None, None, 0, [])]))
    assert [row["value"] for row in rows] == [b"", large, None]
    assert [row["key"] for row in rows] == [b"", b"k", None]


def test_a_header_key_that_is_not_text_is_repaired_as_java_does() -> None:
    built = build([(None, None, 0, [("ok", b"1"), ("bad", b"2")])]).replace(b"bad", b"b\xffd")
    view = memoryview(bytearray(built))
    found = wanted_batches_without_checksum(view)
    [batch] = ArrowDecoder("events", 3, SCHEMA_WITH_HEADERS).decode(view, found, 0, END)
    assert [header["key"] for header in batch.to_pylist()[0]["headers"]] == [
        "ok",
        "b\N{REPLACEMENT CHARACTER}d",
    ]


def wanted_batches_without_checksum(view: memoryview) -> list[FoundBatch]:
    from penstock.protocol.records.batch import iter_batches

    return [FoundBatch(position, header) for position, header in iter_batches(view)]


def test_arrow_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "GROUP_RECORDS", 10)
    data = b"".join(
        build([(None, b"v", 0, [])] * 7, base_offset=7 * number, codec=codec)
        for number, codec in enumerate([Codec.NONE] * 3 + [Codec.LZ4] * 3)
    ) + build([(None, b"w", 0, [])] * 25, base_offset=42)
    rows, batches = decode(data)
    assert [row["offset"] for row in rows] == list(range(67))
    assert max(batch.num_rows for batch in batches) <= 10
    monkeypatch.setattr(arrow, "GROUP_RECORDS", 1000)
    monkeypatch.setattr(arrow, "GROUP_BYTES", 100)
    rows, batches = decode(data)
    assert [row["offset"] for row in rows] == list(range(67))
    assert len(batches) > 3


@settings(deadline=None)
@given(st.data())
def test_damaged_records_are_an_error_and_never_anything_else(data: st.DataObject) -> None:
    built = bytearray(build([(b"key", b"value", 7, [("h", b"x")])] * 5))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(61, len(built) - 1))
        built[at] = data.draw(st.integers(0, 255))
    view = memoryview(built)
    try:
        found = wanted_batches_without_checksum(view)
        batches = list(ArrowDecoder("t", 0, SCHEMA_WITH_HEADERS).decode(view, found, 0, END))
    except CorruptRecords:
        return
    for batch in batches:
        batch.validate(full=True)
