"""Maps Spark's types to msgspec's, for JSON. The rules are strict:

- a field of the schema may be missing or null, unless it is NOT NULL; unknown fields are ignored; of a duplicate field,
  the last counts;
- numbers and strings are not converted into each other; integers have no point and no exponent, and must be in range;
- TIMESTAMP and DATE are RFC 3339 text; a timestamp without an offset is UTC;
- BINARY is base64; DECIMAL takes a number, or text with one, that fits without rounding;
- a column of the top level may say more in its comment: `payload STRING COMMENT 'json'` keeps any JSON value as its
  text, `at TIMESTAMP COMMENT 'epoch ms'` takes milliseconds since 1970 as well as text.
"""

import datetime as dt
import decimal
from typing import Annotated, Any, NotRequired, Required, TypedDict

import msgspec
from pyspark.sql import types as T  # noqa: N812 - the name that all Spark code has for it

from penstock.spark.decode.batch import DecoderError

JSON_COMMENT = "json"
EPOCH_MS_COMMENT = "epoch ms"
_FLOAT_MAX = 3.4028234663852886e38
# The end of the year 9999, the last that Python's calendar has.
_EPOCH_MS_MAX = 253_402_300_799_999

_SIMPLE: dict[type[T.DataType], Any] = {
    T.StringType: str,
    T.BooleanType: bool,
    T.DoubleType: float,
    T.FloatType: Annotated[float, msgspec.Meta(ge=-_FLOAT_MAX, le=_FLOAT_MAX)],
    T.BinaryType: bytes,
    T.TimestampType: dt.datetime,
    T.TimestampNTZType: Annotated[dt.datetime, msgspec.Meta(tz=False)],
    T.DateType: dt.date,
    T.DecimalType: decimal.Decimal,
}
for _kind, _bits in ((T.ByteType, 8), (T.ShortType, 16), (T.IntegerType, 32), (T.LongType, 64)):
    _SIMPLE[_kind] = Annotated[int, msgspec.Meta(ge=-(1 << (_bits - 1)), le=(1 << (_bits - 1)) - 1)]


def row_type(schema: T.StructType) -> type[msgspec.Struct]:
    """Create a class for whole rows, with attributes f0, f1, …: column names need not be Python names."""
    fields: list[Any] = []
    for at, field in enumerate(schema.fields):
        kind = column_type(field)
        may_be_null = kind if kind is msgspec.Raw else kind | None  # raw JSON holds a null as its text
        fields.append((f"f{at}", may_be_null, None) if field.nullable else (f"f{at}", kind))
    names = {f"f{at}": field.name for at, field in enumerate(schema.fields)}
    return msgspec.defstruct("Row", fields, kw_only=True, rename=names, gc=False)


def comment_of(field: T.StructField) -> str | None:
    """Return the column's comment, if it changes how the column is read."""
    comment = (field.metadata or {}).get("comment")
    if comment == JSON_COMMENT and isinstance(field.dataType, T.StringType):
        return JSON_COMMENT
    if comment == EPOCH_MS_COMMENT and isinstance(field.dataType, T.TimestampType):
        return EPOCH_MS_COMMENT
    return None


def column_type(field: T.StructField) -> Any:
    comment = comment_of(field)
    if comment == JSON_COMMENT:
        return msgspec.Raw
    if comment == EPOCH_MS_COMMENT:
        return Annotated[int, msgspec.Meta(ge=0, le=_EPOCH_MS_MAX)] | dt.datetime
    return value_type(field.dataType, field.name)


def value_type(kind: T.DataType, path: str) -> Any:
    """Return the type of a nested value; structs are dictionaries, which Arrow accepts."""
    if type(kind) in _SIMPLE:
        return _SIMPLE[type(kind)]
    if isinstance(kind, T.StructType):
        fields = {}
        for field in kind.fields:
            inner = value_type(field.dataType, f"{path}.{field.name}")
            fields[field.name] = NotRequired[inner | None] if field.nullable else Required[inner]
        return TypedDict("Inner", fields)  # type: ignore[operator]  # its fields are known only now
    generic: Any
    if isinstance(kind, T.ArrayType):
        generic, inner = list, value_type(kind.elementType, f"{path}[]")
        return generic[inner | None if kind.containsNull else inner]
    if isinstance(kind, T.MapType) and isinstance(kind.keyType, T.StringType):
        generic, inner = dict, value_type(kind.valueType, f"{path}{{}}")
        return generic[str, inner | None if kind.valueContainsNull else inner]
    raise DecoderError(
        f"column {path}: {kind.simpleString()} cannot be read from JSON; use STRING COMMENT 'json' to keep its text"
    )
