"""Decoders over frames of a real session."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from penstock.spark.decode.batch import DecoderError
from penstock.spark.decode.frames import decode
from penstock.spark.decode.settings import (
    AvroDecoder,
    EnvelopeDecoder,
    JsonDecoder,
    ProtobufDecoder,
    RawDecoder,
)
from tests.spark.decode.avro.test_rows import SCHEMAS as AVRO_SCHEMAS
from tests.spark.decode.avro.test_rows import body, framed
from tests.spark.decode.test_protobuf import DESCRIPTORS

pytestmark = pytest.mark.xdist_group("spark")

CONNECTOR = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
NOON = dt.datetime(2026, 5, 4, 12)


def records(spark: SparkSession, *values: bytes | None, key: bytes | None = b"k") -> DataFrame:
    """What a source gives for these values."""
    rows: Sequence[Any] = [
        (key, value, "orders", 2, offset, NOON, 0, [("trace", b"1")]) for offset, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, CONNECTOR)


def collected(frame: DataFrame) -> list[Row]:
    return frame.orderBy("_record.offset").collect()


def test_good_and_bad_records_carry_what_they_were(spark: SparkSession) -> None:
    decoder = JsonDecoder(
        schema="id STRING NOT NULL, at TIMESTAMP, tags ARRAY<STRING>, more MAP<STRING, INT>"
    )
    good = b'{"id":"a","at":"2026-05-04T12:00:00Z","tags":["x",null],"more":{"n":1}}'
    first, second, third = collected(decode(records(spark, good, b"{}", None), decoder))
    assert (first.id, first.at, first.tags, first.more) == ("a", NOON, ["x", None], {"n": 1})
    assert first._error is None
    assert (second.id, second._error) == (None, "id: required, but missing")
    assert third._error == "null value"
    record = first._record.asDict(recursive=True)
    assert record == {
        "topic": "orders",
        "partition": 2,
        "offset": 0,
        "timestamp": NOON,
        "key": b"k",
        "value": good,
        "headers": [{"key": "trace", "value": b"1"}],
    }
    assert (third._record.offset, third._record.value) == (2, None)


def test_a_source_without_headers_has_null_there(spark: SparkSession) -> None:
    (row,) = collected(decode(records(spark, b"{}").drop("headers"), JsonDecoder(schema="id STRING")))
    assert row._error is None
    assert row._record.headers is None


def test_events_of_other_types_are_skipped(spark: SparkSession) -> None:
    event = b'{"eventId":"%d","eventType":"%b","timestamp":1777896000000,"payload":{"n":1}}'
    frame = records(spark, event % (1, b"A"), event % (2, b"B"), event % (3, b"A"))
    rows = collected(decode(frame, EnvelopeDecoder(payload="n INT", event_types=("A",))))
    assert [(row.eventId, row.payload.n, row.timestamp, row._record.offset) for row in rows] == [
        ("1", 1, NOON, 0),
        ("3", 1, NOON, 2),
    ]


def test_a_record_of_a_megabyte_passes_and_so_does_one_that_is_rejected(spark: SparkSession) -> None:
    large = b'{"id":"%b"}' % (b"x" * 1_000_000)
    first, second = collected(decode(records(spark, large, large + b"!"), JsonDecoder(schema="id STRING")))
    assert len(first.id) == 1_000_000
    assert second._error == "not JSON: text after the end at character 1000009"
    assert len(second._record.value) == 1_000_010


def test_raw_records_are_bytes_or_text(spark: SparkSession) -> None:
    frame = records(spark, b"a", None, b"\xff")
    as_bytes = collected(decode(frame, RawDecoder()))
    assert [(row.key, row.value, row._error) for row in as_bytes] == [
        (b"k", b"a", None),
        (b"k", None, None),
        (b"k", b"\xff", None),
    ]
    as_text = collected(decode(frame, RawDecoder(text=True, allow_null=False)))
    assert [(row.key, row.value, row._error) for row in as_text] == [
        ("k", "a", None),
        (None, None, "null value"),
        (None, None, "value: invalid UTF-8"),
    ]


def test_a_column_cannot_have_a_name_of_ours(spark: SparkSession) -> None:
    with pytest.raises(DecoderError, match="_error has a name that Penstock uses"):
        decode(records(spark), JsonDecoder(schema="_error STRING"))


def test_avro_and_protobuf_read_their_files_here_and_not_in_workers(
    spark: SparkSession, tmp_path: Path
) -> None:
    avro = AVRO_SCHEMAS[3]
    (tmp_path / "order.avsc").write_text(avro)
    (tmp_path / "shop.desc").write_bytes(DESCRIPTORS)
    frame = records(spark, framed(3, body(avro, {"id": "a", "amount": None})), framed(4, b""))
    decoded = decode(frame, AvroDecoder(schemas={3: "order.avsc"}), str(tmp_path))
    frame = records(spark, framed(7, b"\x02\x02\x08\x05"))
    from_protobuf = decode(
        frame, ProtobufDecoder(descriptors="shop.desc", message="shop.Other"), str(tmp_path)
    )
    (tmp_path / "order.avsc").unlink()
    (tmp_path / "shop.desc").unlink()
    assert [(row.id, row._error) for row in collected(decoded)] == [
        ("a", None),
        (None, "unknown schema id 4"),
    ]
    assert [(row.x, row._error) for row in collected(from_protobuf)] == [(5, None)]
