"""Converts the footer of a Parquet file to the statistics of Delta's log. No I/O.

Delta uses them to skip files: `numRecords`, and for each leaf column `minValues`, `maxValues` and `nullCount`, nested
like the columns. A bound that would be rounded in the wrong direction is left out.
"""

import datetime as dt
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS_MAX = 32  # as many leaves as Delta's own default
_TEXT_LENGTH_MAX = 32
_LAST_CHARACTER = "\U0010ffff"


def statistics_of(footer: pq.FileMetaData) -> str:
    found: dict[str, Any] = {"numRecords": footer.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    leaves = [path for field in footer.schema.to_arrow_schema() for path in _leaves(field)]
    for at, path in enumerate(leaves[:COLUMNS_MAX]):
        if not path:  # inside a list or a map: a bound would be of elements, not of rows
            continue
        chunks: list[Any] = [
            footer.row_group(group).column(at).statistics for group in range(footer.num_row_groups)
        ]
        if all(chunk is not None and chunk.has_null_count for chunk in chunks):
            _set_nested(found["nullCount"], path, sum(chunk.null_count for chunk in chunks))
        all_null = [chunk is not None and chunk.has_null_count and not chunk.num_values for chunk in chunks]
        bounds = [_bounds_of(chunk) for chunk, is_null in zip(chunks, all_null, strict=True) if not is_null]
        if bounds and all(bound is not None for bound in bounds):
            low = _lower_bound(min(bound[0] for bound in bounds if bound is not None))
            high = _upper_bound(max(bound[1] for bound in bounds if bound is not None))
            if low is not None:
                _set_nested(found["minValues"], path, low)
            if high is not None:
                _set_nested(found["maxValues"], path, high)
    return json.dumps(found, ensure_ascii=False)


def _leaves(field: "pa.Field[pa.DataType]") -> Iterator[list[str]]:
    """Yield the path of each leaf in the order of the file's columns; empty for repeated ones."""
    if pa.types.is_struct(field.type):
        for inner in field.type:
            yield from ([field.name, *path] if path else [] for path in _leaves(inner))
    elif pa.types.is_map(field.type):
        yield from ([] for part in (field.type.key_field, field.type.item_field) for _ in _leaves(part))
    elif pa.types.is_list(field.type):
        yield from ([] for _ in _leaves(field.type.value_field))
    else:
        yield [field.name]


def _bounds_of(chunk: Any) -> tuple[Any, Any] | None:
    if chunk is None or not chunk.has_min_max:
        return None
    low, high = chunk.min, chunk.max
    if isinstance(low, bool) or not isinstance(low, int | float | str | dt.date):
        return None  # Delta has no bounds of booleans and binaries; a decimal may be rounded in JSON
    if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)):
        return None
    return low, high


def _lower_bound(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _TEXT_LENGTH_MAX:
        return value[:_TEXT_LENGTH_MAX]
    return _plain(value)


def _upper_bound(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _TEXT_LENGTH_MAX:
        cut = value[:_TEXT_LENGTH_MAX]
        return None if value[_TEXT_LENGTH_MAX] == _LAST_CHARACTER else cut + _LAST_CHARACTER
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        zone = "Z" if value.tzinfo else ""
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + zone
    return value.isoformat() if isinstance(value, dt.date) else value


def _set_nested(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
