"""Rejected rows as records of the dead-letter topic."""

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.dead_letter_format import Origin, read_headers
from penstock.spark.dead_letters import dead_letters
from penstock.spark.decode.frames import decode
from penstock.spark.decode.settings import JsonDecoder
from tests.spark.decode.test_frames import records

pytestmark = pytest.mark.xdist_group("spark")


def headers_of(row: Row) -> list[tuple[str, bytes | None]]:
    return [(header.key, None if header.value is None else bytes(header.value)) for header in row.headers]


def test_a_dead_letter_is_the_record_with_the_reason_after_its_headers(spark: SparkSession) -> None:
    decoded = decode(records(spark, b"\xff{"), JsonDecoder(schema="id STRING"))
    (row,) = dead_letters(decoded, pipeline="payments", step="orders").collect()
    assert (bytes(row.key), bytes(row.value)) == (b"k", b"\xff{")
    letter = read_headers(headers_of(row))
    assert letter is not None
    assert (letter.pipeline, letter.step, letter.error) == ("payments", "orders", "invalid UTF-8 at byte 0")
    assert letter.headers == (("trace", b"1"),)
    assert letter.origin == Origin(topic="orders", partition=2, offset=0, timestamp_ms=1777896000000)


def test_a_record_without_headers_key_or_value_is_a_dead_letter_too(spark: SparkSession) -> None:
    frame = records(spark, None, key=None).drop("headers")
    (row,) = dead_letters(decode(frame, JsonDecoder(schema="id STRING")), pipeline="p", step="s").collect()
    assert (row.key, row.value) == (None, None)
    letter = read_headers(headers_of(row))
    assert letter is not None
    assert (letter.error, letter.headers) == ("null value", ())


def test_a_row_that_lost_its_record_is_written_as_json(spark: SparkSession) -> None:
    rejected = spark.range(1).select(F.col("id"), F.lit("too small").alias("_error"))
    (row,) = dead_letters(rejected, pipeline="p", step="totals").collect()
    assert (row.key, bytes(row.value)) == (None, b'{"id":0}')
    letter = read_headers(headers_of(row))
    assert letter is not None
    assert (letter.step, letter.error, letter.origin) == ("totals", "too small", None)
