"""JSON values as columns: SQL that extracts the fields, and says why a value does not fit. No I/O.

DuckDB parses a value once for all fields that a query reads. A number is not rounded to an integer. A field that does
not fit its column is null, and `_error` names it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from penstock.sql.columns import RECORD_COLUMNS, TEXT, VALUE
from penstock.sql.names import quoted, text_literal

_FIELDS_MAX: Final = 200  # an object with more is a map: its column has JSON
_JSON: Final = "JSON"
_INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
)
# Numbers of a sample may have no sign by chance.
_INFERRED: Final = {"NULL": _JSON, "UBIGINT": "BIGINT", "HUGEINT": "BIGINT"}
EPOCH_MS: Final = "EPOCH_MS"  # TIMESTAMP WITH TIME ZONE, written as milliseconds since 1970 or as text
_EXTRACTED: Final = "__fields"


class JsonColumn(msgspec.Struct, frozen=True):
    name: str
    type: str

    @property
    def path(self) -> str:
        return '$."' + self.name.replace('"', '\\"') + '"'


def columns_of(structure: Any) -> tuple[JsonColumn, ...]:
    """Return the columns of a structure as `json_group_structure` gives it."""
    if not isinstance(structure, Mapping):
        return ()
    taken = {name.lower() for name in (*RECORD_COLUMNS, "_error")}
    columns: list[JsonColumn] = []
    for name, kind in structure.items():
        # A path cannot name these; names of columns do not differ by case alone.
        if name and name.lower() not in taken and '"' not in name and "\\" not in name:
            taken.add(name.lower())
            columns.append(JsonColumn(name, type_of(kind)))
    return tuple(columns)


def type_of(structure: Any) -> str:
    if isinstance(structure, Mapping):
        if not 0 < len(structure) <= _FIELDS_MAX:
            return _JSON
        return f"STRUCT({', '.join(f'{quoted(name)} {type_of(kind)}' for name, kind in structure.items())})"
    if isinstance(structure, Sequence) and not isinstance(structure, str):
        return f"{type_of(structure[0])}[]" if structure else _JSON
    return _INFERRED.get(str(structure), str(structure))


def json_view(raw: str, columns: Sequence[JsonColumn], read: Sequence[str]) -> str:
    """Return the SELECT of a topic. Fields named in `read` are extracted together; others cost a parse each."""
    together = [each for each in columns if each.name in read and not _is_nested(each)]
    places = {each.name: number for number, each in enumerate(together, 1)}
    paths = ", ".join(text_literal(each.path) for each in together)
    extracted = f"TRY(json_extract_string({TEXT}, [{paths}]))" if together else "NULL::VARCHAR[]"

    def text_of(column: JsonColumn) -> str:
        if column.name in places:
            return f"{_EXTRACTED}[{places[column.name]}]"
        return f"TRY(json_extract_string({TEXT}, {text_literal(column.path)}))"

    values = [f"{_value(each, text_of(each))} AS {quoted(each.name)}" for each in columns]
    return (
        f"SELECT {', '.join([*values, *RECORD_COLUMNS])}, {_error(columns)} AS _error "  # noqa: S608
        f"FROM (SELECT *, {extracted} AS {_EXTRACTED} FROM {quoted(raw)})"
    )


def _is_nested(column: JsonColumn) -> bool:
    return column.type == _JSON or "(" in column.type.removeprefix("DECIMAL") or column.type.endswith("]")


def _value(column: JsonColumn, text: str) -> str:
    if _is_nested(column):
        extracted = f"TRY(json_extract({TEXT}, {text_literal(column.path)}))"
        if column.type == _JSON:
            return f"nullif({extracted}, 'null')"
        return f"TRY_CAST({extracted} AS {column.type})"
    if column.type == EPOCH_MS:
        number = f"make_timestamptz(TRY_CAST({text} AS BIGINT) * 1000)"
        is_number = f"regexp_full_match({text}, '-?[0-9]+')"
        return f"CASE WHEN {is_number} THEN {number} ELSE TRY_CAST({text} AS TIMESTAMPTZ) END"
    if column.type in _INTEGERS:
        return f"CASE WHEN regexp_full_match({text}, '-?[0-9]+') THEN TRY_CAST({text} AS {column.type}) END"
    return text if column.type == "VARCHAR" else f"TRY_CAST({text} AS {column.type})"


def _error(columns: Sequence[JsonColumn]) -> str:
    """Return the reason why a value does not fit; null for one that does, and for a null value.

    DuckDB may evaluate a part before the WHEN in front of it, hence TRY.
    """
    checks = [_check(each) for each in columns if each.type not in (_JSON, "VARCHAR")]
    mismatches = (
        f"nullif(array_to_string(list_filter([{', '.join(checks)}], lambda x: x IS NOT NULL), '; '), '')"
        if checks
        else "NULL"
    )
    return (
        f"CASE WHEN {VALUE} IS NULL THEN NULL WHEN {TEXT} IS NULL THEN 'invalid UTF-8' "
        f"WHEN NOT json_valid({TEXT}) THEN 'not JSON: ' || left({TEXT}, 40) "
        f"WHEN TRY(json_type({TEXT})) <> 'OBJECT' "
        f"THEN 'expected an object, found ' || lower(TRY(json_type({TEXT}))) "
        f"ELSE {mismatches} END"
    )


def _check(column: JsonColumn) -> str:
    path = text_literal(column.path)
    value = _value(column, f"TRY(json_extract_string({TEXT}, {path}))")
    kind = "time" if column.type == EPOCH_MS else column.type
    return (
        f"CASE WHEN {value} IS NULL AND TRY(json_type({TEXT}, {path})) <> 'NULL' THEN "
        f"{text_literal(f'{column.name}: expected {kind}, found ')} || "
        f"left(TRY(json_extract({TEXT}, {path}))::VARCHAR, 40) END"
    )
