"""Merges the columns of events that were sent before and after a change of their table. Pure."""

from collections.abc import Iterable

import pyarrow as pa
from pyarrow import types

_SIGNED = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def merge_columns(table: pa.Schema | None, found: Iterable[pa.Schema]) -> pa.Schema:
    """Return the columns for all of these rows: the table's first, with its types where they hold the rows."""
    merged: dict[str, pa.DataType] = {} if table is None else {field.name: field.type for field in table}
    for schema in sorted(found, key=lambda each: (len(each), str(each))):
        for field in schema:
            before = merged.get(field.name)
            merged[field.name] = field.type if before is None else wider(before, field.type)
    return pa.schema([pa.field(name, kind) for name, kind in merged.items()])


def wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the values of both; if there is none, the second."""
    if one == other:
        return one
    if one in _SIGNED and other in _SIGNED:
        return max(one, other, key=_SIGNED.index)
    if types.is_floating(one) and (types.is_floating(other) or other in _SIGNED):
        return pa.float64() if pa.float64() in (one, other) or other in _SIGNED[2:] else one
    if types.is_floating(other) and one in _SIGNED:
        return pa.float64() if one in _SIGNED[2:] else other
    if isinstance(one, pa.Decimal128Type) and isinstance(other, pa.Decimal128Type):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale)
        return pa.decimal128(min(digits + scale, 38), scale)
    return one if types.is_string(one) else other
