"""Applies decoders to Spark frames. Only this module of the package needs a session."""

import functools
import importlib
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql import types as T  # noqa: N812

from penstock.spark.decode.batch import NULL_VALUE, BatchDecoder, DecoderError, RowDecoder
from penstock.spark.decode.settings import Decoder, RawDecoder
from penstock.spark.record_columns import ERROR, HEADERS_TYPE, RECORD

_RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


def decode(frame: DataFrame, decoder: Decoder, directory: str = ".") -> DataFrame:
    """Decode the frame of a topic into the decoder's columns, `_record` and `_error`.

    `_error` is null for a record that decoded; otherwise it has the reason and the decoded columns are null. Files that
    the decoder names are relative to `directory` and read here: workers need none of them.
    """
    if isinstance(decoder, RawDecoder):
        return _decode_raw(frame, decoder)
    return decode_rows(frame, row_decoder(decoder, directory))


def decode_rows(frame: DataFrame, rows: RowDecoder) -> DataFrame:
    taken = sorted({RECORD, ERROR}.intersection(rows.schema.names))
    if taken:
        raise DecoderError(f"column {taken[0]} has a name that Penstock uses itself: rename it")
    parts = _record_columns(frame)
    # Sending a null array to Python costs Spark 10 µs, an empty one almost nothing.
    parts["headers"] = F.coalesce(parts["headers"], F.array().cast(HEADERS_TYPE))
    records = frame.select(*[column.alias(_flat_name(name)) for name, column in parts.items()])
    schema = T.StructType()
    for field in rows.schema.fields:
        schema.add(field.name, field.dataType)
    for field in (*records.schema.fields, T.StructField(ERROR, T.StringType())):
        schema.add(field)
    decoded = records.mapInArrow(functools.partial(_decode_batches, rows), schema)
    record = F.struct(*[_restore_field(name).alias(name) for name in _RECORD_COLUMNS])
    return decoded.select(
        *[F.col(f"`{name}`") for name in rows.schema.names], record.alias(RECORD), F.col(ERROR)
    )


def _flat_name(name: str) -> str:
    return f"{RECORD}_{name}"


def _restore_field(name: str) -> Column:
    """Return a field of the record; like Spark's own connector, empty headers are null."""
    column = F.col(_flat_name(name))
    return F.when(F.size(column) > 0, column) if name == "headers" else column


def row_decoder(decoder: Decoder, directory: str) -> RowDecoder:
    made: RowDecoder = importlib.import_module(decoder.module).row_decoder(decoder, directory)
    return made


def _record_columns(frame: DataFrame) -> dict[str, Column]:
    """Return the fields of the record. Without `includeHeaders` a source has no headers."""
    return {
        name: F.col(name) if name in frame.columns else F.lit(None).cast(HEADERS_TYPE)
        for name in _RECORD_COLUMNS
    }


def _record(frame: DataFrame) -> Column:
    return F.struct(*[column.alias(name) for name, column in _record_columns(frame).items()])


def _decode_batches(decoder: RowDecoder, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    worker = BatchDecoder(decoder)
    names = [*worker.names, *map(_flat_name, _RECORD_COLUMNS), ERROR]
    for batch in batches:
        read = ("value", "key", "offset") if worker.reads_records else ("value",)
        inputs: list[list[Any]] = [batch.column(_flat_name(each)).to_pylist() for each in read]
        columns, errors, wanted = worker.decode(*inputs)
        record = batch if len(wanted) == batch.num_rows else batch.take(pa.array(wanted, pa.int64()))
        yield pa.RecordBatch.from_arrays([*columns, *record.columns, pa.array(errors, pa.string())], names)


def _decode_raw(frame: DataFrame, decoder: RawDecoder) -> DataFrame:
    """Decode without Python: key and value are columns already."""
    no_error = F.lit(None).cast("string")
    error = no_error if decoder.allow_null else F.when(F.col("value").isNull(), NULL_VALUE)
    if not decoder.text:
        return frame.select("key", "value", _record(frame).alias(RECORD), error.alias(ERROR))
    key, value = (F.col(name).cast("string") for name in ("key", "value"))
    for name, text in (("key", key), ("value", value)):
        error = F.coalesce(error, F.when(~F.is_valid_utf8(text), f"{name}: invalid UTF-8"))
    is_good = error.isNull()
    return frame.select(
        F.when(is_good, key).alias("key"),
        F.when(is_good, value).alias("value"),
        _record(frame).alias(RECORD),
        error.alias(ERROR),
    )
