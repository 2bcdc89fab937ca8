"""Applies encoders to columns. Only this module of the package needs Spark."""

import importlib
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # not in its types
from pyspark.sql.pandas.types import to_arrow_type

from penstock.spark.encode.batch import EncoderError, ValueEncoder, encode_array
from penstock.spark.encode.schemas import Place, Registration
from penstock.spark.encode.settings import STOP as STOPS
from penstock.spark.encode.settings import Encoder
from penstock.spark.record_columns import ERROR, OWN_COLUMNS, STOP

_ENCODERS_MAX = 256
_encoders: dict[tuple[Encoder, pa.DataType, Place], ValueEncoder] = {}  # of the runs of this process
_RESULT = "struct<value: binary, error: string>"


def encoded_column(frame: DataFrame, column: Column, settings: Encoder, place: Place) -> Column:
    """Return a column of `value`, the bytes, and `error`, the reason why a value cannot be encoded.

    The schema is found here, on the driver, for the column's type in the frame. Raises EncoderError if it does not fit.
    """
    for wrong in settings.problems():
        raise EncoderError(wrong)
    kind = to_arrow_type(frame.select(column.alias("value")).schema["value"].dataType, timezone="UTC")
    encoder = value_encoder(settings, kind, place)

    def encode(values: pa.Array) -> pa.Array:  # type: ignore[type-arg]  # Spark reads the annotation
        write = _unknown_schema if encoder is None else encoder.writer()
        bodies, errors = encode_array(write, values)
        arrays: list[pa.Array[Any]] = [pa.array(bodies, pa.binary()), pa.array(errors, pa.string())]
        return pa.StructArray.from_arrays(arrays, names=["value", "error"])

    # Else Spark would encode once for each use of the column.
    encoded: Column = arrow_udf(encode, _RESULT).asNondeterministic()(column)
    return encoded


def add_encoded(
    frame: DataFrame, name: str, expression: str | None, settings: Encoder, place: Place
) -> DataFrame:
    """Add the bytes as a column of this name. Rows that cannot be encoded have the reason in `_error` or `_stop`.

    Without an expression the whole row is encoded.
    """
    rows = [F.col(f"`{each}`") for each in frame.columns if each not in OWN_COLUMNS]
    column = F.struct(*rows) if expression is None else F.expr(expression)
    added = frame.withColumn(name, encoded_column(frame, column, settings, place))
    what = "key" if place.is_key else "value"
    reason = F.concat(F.lit(f"cannot encode the {what} as {settings.label}: "), F.col(f"{name}.error"))
    marked = {each: F.col(each) for each in (ERROR, STOP) if each in frame.columns}
    for each in (ERROR, STOP):
        before = marked.get(each, F.lit(None).cast("string"))
        applies = (settings.otherwise == STOPS) == (each == STOP)
        marked[each] = F.coalesce(before, reason) if applies else before
    return added.withColumns({**marked, name: F.col(f"{name}.value")})


def value_encoder(settings: Encoder, kind: pa.DataType, place: Place) -> ValueEncoder | None:
    known = (settings, kind, msgspec.structs.replace(place, registration=Registration.RUNNING))
    if place.registration is Registration.RUNNING and known in _encoders:
        return _encoders[known]
    make = importlib.import_module(settings.module).value_encoder
    made: ValueEncoder | None = make(settings, kind, place)
    if len(_encoders) >= _ENCODERS_MAX:
        _encoders.clear()
    if made is not None:
        _encoders[known] = made
    return made


def _unknown_schema(_value: Any) -> bytes:
    raise EncoderError("the schema was not looked up: this frame is only for `check --offline`")
