"""Decodes a batch of values to Arrow columns, with the reasons for rejected values. No I/O."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from penstock.spark.text import shortened

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NULL_VALUE = "null value"


class DecoderError(ValueError):
    """The settings of a decoder are wrong; the message says what to change."""


class Rejected(Exception):
    """The record does not decode; the message is the reason in its dead letter."""


class Skipped(Exception):
    """The source does not want the record: it is neither a row nor a dead letter."""


class RowDecoder(Protocol):
    """Created on the driver, pickled, used by workers."""

    @property
    def schema(self) -> "StructType": ...

    @property
    def allows_null(self) -> bool: ...

    @property
    def reads_records(self) -> bool:
        """Whether rows are made of value, key and offset of a record, and not of the value alone."""

    def reader(self) -> Callable[..., Any]:
        """Return a function from a value to a row, which may raise `Rejected` or `Skipped`; once for each task.

        With `reads_records` it gets value, key and offset, and nulls too.
        """

    def column(self, rows: Sequence[Any], index: int) -> list[Any]:
        """Return the values of one column; a row that is None has only nulls."""


def spark_schema(columns: pa.Schema) -> "StructType":
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - SQL decodes without Spark

    return from_arrow_schema(columns, prefer_timestamp_ntz=True)


def _arrow_schema(columns: "StructType") -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - likewise

    return to_arrow_schema(columns, timezone="UTC")


class BatchDecoder:
    """`columns` are those of the decoder, which are converted from Spark's types if they are not given."""

    __slots__ = ("_allows_null", "_decoder", "_read", "_types", "names", "reads_records")

    def __init__(self, decoder: RowDecoder, columns: pa.Schema | None = None) -> None:
        columns = _arrow_schema(decoder.schema) if columns is None else columns
        self._decoder = decoder
        self._read = decoder.reader()
        self._allows_null = decoder.allows_null
        self.reads_records = decoder.reads_records
        self.names = columns.names
        self._types: list[pa.DataType] = columns.types

    def decode(
        self, values: Sequence[bytes | None], keys: Sequence[bytes | None] = (), offsets: Sequence[int] = ()
    ) -> "tuple[list[pa.Array[Any]], list[str | None], list[int]]":
        rows: list[Any] = []
        errors: list[str | None] = []
        wanted: list[int] = []
        for at, value in enumerate(values):
            row, error = None, None
            try:
                if self.reads_records:
                    row = self._read(value, keys[at], offsets[at])
                elif value is not None:
                    row = self._read(value)
                elif not self._allows_null:
                    error = NULL_VALUE
            except Rejected as rejected:
                error = str(rejected)
            except Skipped:
                continue
            rows.append(row)
            errors.append(error)
            wanted.append(at)
        return self._columns(rows, errors), errors, wanted

    def _columns(self, rows: list[Any], errors: list[str | None]) -> "list[pa.Array[Any]]":
        """Build the columns. A value that Arrow refuses, such as a long decimal, rejects only its own record."""
        try:
            return [pa.array(self._decoder.column(rows, at), kind) for at, kind in enumerate(self._types)]
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            for number, row in enumerate(rows):
                fault = None if row is None else self._conversion_error(row)
                if fault is not None:
                    rows[number], errors[number] = None, fault
            return [pa.array(self._decoder.column(rows, at), kind) for at, kind in enumerate(self._types)]

    def _conversion_error(self, row: Any) -> str | None:
        for at, kind in enumerate(self._types):
            (value,) = self._decoder.column([row], at)
            try:
                pa.array([value], kind)
            except (pa.ArrowException, ValueError, OverflowError, TypeError):
                return f"{self.names[at]}: {shortened(value)} does not fit {_type_name(kind)}"
        return None


_SQL_NAMES = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"}


def _type_name(kind: pa.DataType) -> str:
    """Return the type's name in SQL."""
    if isinstance(kind, pa.Decimal128Type):
        return f"decimal({kind.precision},{kind.scale})"
    return _SQL_NAMES.get(str(kind), str(kind))
