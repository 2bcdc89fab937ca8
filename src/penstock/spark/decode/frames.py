"""Decoders over Spark frames. Everything that needs a session is here."""

import functools
import os
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql import types as T  # noqa: N812

from penstock.spark.decode.avro_rows import AvroRows
from penstock.spark.decode.json_rows import JsonRows, envelope_schema
from penstock.spark.decode.protobuf_rows import ProtobufRows
from penstock.spark.decode.values import NULL_VALUE, BatchDecoder, DecoderError, RowDecoder
from penstock.spark.pipeline.model import (
    AvroDecoder,
    Decoder,
    EnvelopeDecoder,
    JsonDecoder,
    ProtobufDecoder,
    RawDecoder,
)

RECORD = "_record"
ERROR = "_error"
HEADERS_TYPE = "array<struct<key:string,value:binary>>"
_RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")


_RowDecoder = JsonDecoder | EnvelopeDecoder | AvroDecoder | ProtobufDecoder


def decode(frame: DataFrame, decoder: Decoder, directory: str = ".") -> DataFrame:
    """The rows of a topic's frame: the decoded columns, `_record` as it was read, and `_error`.

    `_error` is null for a record that decoded; else the decoded columns are null and it says why. Files that the
    decoder names are relative to `directory`, and read here: workers need none of them.
    """
    if isinstance(decoder, RawDecoder):
        return _decode_raw(frame, decoder)
    rows = row_decoder(decoder, directory)
    taken = sorted({RECORD, ERROR}.intersection(rows.schema.names))
    if taken:
        raise DecoderError(f"column {taken[0]} has a name that Penstock uses itself: call it something else")
    parts = _record_columns(frame)
    # On its way to Python Spark spends 10 µs on a null array, and next to nothing on an empty one.
    parts["headers"] = F.coalesce(parts["headers"], F.array().cast(HEADERS_TYPE))
    records = frame.select(*[column.alias(_flat(name)) for name, column in parts.items()])
    schema = T.StructType()
    for field in rows.schema.fields:
        schema.add(field.name, field.dataType)
    for field in (*records.schema.fields, T.StructField(ERROR, T.StringType())):
        schema.add(field)
    decoded = records.mapInArrow(functools.partial(_decode_batches, rows), schema)
    record = F.struct(*[_restored(name).alias(name) for name in _RECORD_COLUMNS])
    return decoded.select(
        *[F.col(f"`{name}`") for name in rows.schema.names], record.alias(RECORD), F.col(ERROR)
    )


def _flat(name: str) -> str:
    return f"{RECORD}_{name}"


def _restored(name: str) -> Column:
    """A part of the record; as in Spark's own connector, headers are null where there are none."""
    column = F.col(_flat(name))
    return F.when(F.size(column) > 0, column) if name == "headers" else column


def row_decoder(decoder: _RowDecoder, directory: str) -> RowDecoder:
    """What a decoder of the model means."""
    match decoder:
        case JsonDecoder():
            return JsonRows(_parsed(decoder.schema), allows_null=decoder.allow_null)
        case EnvelopeDecoder():
            payload = _parsed(decoder.payload) if decoder.payload is not None else None
            return JsonRows(envelope_schema(payload), event_types=frozenset(decoder.event_types))
        case AvroDecoder():
            reader_schema = (
                _text(directory, decoder.reader_schema) if decoder.reader_schema is not None else None
            )
            return AvroRows(
                reader_schema=reader_schema,
                schemas={schema_id: _text(directory, path) for schema_id, path in decoder.schemas.items()},
                registry_url=decoder.registry_url,
                framed=decoder.framed,
                allows_null=decoder.allow_null,
            )
        case ProtobufDecoder():
            return ProtobufRows(
                _content(directory, decoder.descriptors),
                decoder.message,
                framed=decoder.framed,
                allows_null=decoder.allow_null,
            )


def _content(directory: str, path: str) -> bytes:
    with open(os.path.join(directory, path), "rb") as file:
        return file.read()


def _text(directory: str, path: str) -> str:
    return _content(directory, path).decode()


def _parsed(schema: str) -> T.StructType:
    parsed = T.StructType.fromDDL(schema)
    if not isinstance(parsed, T.StructType):
        raise DecoderError(f"`{schema}` is one type and no list of columns: write `name TYPE, …`")
    return parsed


def _record_columns(frame: DataFrame) -> dict[str, Column]:
    """The parts of the record. Without `includeHeaders` a source has no headers."""
    return {
        name: F.col(name) if name in frame.columns else F.lit(None).cast(HEADERS_TYPE)
        for name in _RECORD_COLUMNS
    }


def _record(frame: DataFrame) -> Column:
    return F.struct(*[column.alias(name) for name, column in _record_columns(frame).items()])


def _decode_batches(decoder: RowDecoder, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    at_work = BatchDecoder(decoder)
    names = [*at_work.names, *map(_flat, _RECORD_COLUMNS), ERROR]
    for batch in batches:
        columns, errors, wanted = at_work.decode(batch.column(_flat("value")).to_pylist())
        record = batch if len(wanted) == batch.num_rows else batch.take(pa.array(wanted, pa.int64()))
        yield pa.RecordBatch.from_arrays([*columns, *record.columns, pa.array(errors, pa.string())], names)


def _decode_raw(frame: DataFrame, decoder: RawDecoder) -> DataFrame:
    """Needs no Python: key and value are columns already."""
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
