"""JSON fields as columns, by DuckDB itself."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from penstock.sql.columns import RECORD_COLUMNS
from penstock.sql.infer import envelope_columns, infer_json
from penstock.sql.json_columns import EPOCH_MS, JsonColumn, json_view
from penstock.sql.text import to_text


def rows(columns: tuple[JsonColumn, ...], *values: bytes | None, read: tuple[str, ...] = ()) -> list[Any]:
    raw: dict[str, Any] = {name: pa.nulls(len(values)) for name in RECORD_COLUMNS}
    raw["_value"] = pa.array(values, pa.binary())
    raw["_text"] = to_text(raw["_value"], replaces_invalid=False)
    names = ", ".join(f'"{each.name}"' for each in columns)
    with duckdb.connect() as connection:
        connection.register("raw", pa.table(raw))
        view = json_view("raw", columns, read)
        found: list[Any] = connection.execute(f"SELECT {names}, _error FROM ({view})").fetchall()
        return found


@pytest.mark.parametrize("read", [(), ("a", "b", "c")])
def test_fields_become_columns_whether_they_are_read_together_or_not(read: tuple[str, ...]) -> None:
    columns = (JsonColumn("a", "BIGINT"), JsonColumn("b", "VARCHAR"), JsonColumn("c", "STRUCT(d DOUBLE[])"))
    assert rows(columns, b'{"a": 1, "b": "x", "c": {"d": [1, 2.5]}}', b'{"b": null}', read=read) == [
        (1, "x", {"d": [1.0, 2.5]}, None),
        (None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (b"nonsense", "not JSON: nonsense"),
        (b"[1]", "expected an object, found array"),
        (b"\xff", "invalid UTF-8"),
        (b'{"a": "x"}', 'a: expected BIGINT, found "x"'),
        (b'{"a": 1.5}', "a: expected BIGINT, found 1.5"),
        (b'{"a": 99999999999999999999}', "a: expected BIGINT, found 99999999999999999999"),
    ],
)
def test_a_value_that_does_not_fit_is_null_and_says_why(value: bytes, error: str) -> None:
    assert rows((JsonColumn("a", "BIGINT"),), value) == [(None, error)]


def test_a_null_value_is_a_row_of_nulls_and_no_error() -> None:
    assert rows((JsonColumn("a", "BIGINT"),), None) == [(None, None)]


def test_names_that_need_quotes_are_read() -> None:
    assert rows((JsonColumn("it's a.b", "VARCHAR"),), b'{"it\'s a.b": "x"}', read=("it's a.b",)) == [
        ("x", None)
    ]


def test_columns_are_inferred_from_a_sample() -> None:
    values = [
        b'{"id": 1, "at": "2026-01-01T00:00:00Z", "day": "2026-01-01", "x": {"y": [1]}, "_key": 1, "n": null}',
        b'{"id": -2, "amount": 1.5, "at": "2026-01-01T00:00:00.5+01:00", "ID": 3}',
        b"nonsense",
    ]
    assert infer_json(values) == (
        JsonColumn("id", "BIGINT"),
        JsonColumn("at", "TIMESTAMP WITH TIME ZONE"),
        JsonColumn("day", "DATE"),
        JsonColumn("x", 'STRUCT("y" BIGINT[])'),
        JsonColumn("n", "JSON"),
        JsonColumn("amount", "DOUBLE"),
    )
    assert infer_json([b"1", b"text"]) is None


def test_an_envelope_has_its_columns_and_those_of_its_payload() -> None:
    value = b'{"eventId": "e", "eventType": "t", "timestamp": 1000, "payload": {"a": 1}}'
    columns = infer_json([value])
    assert columns == envelope_columns('STRUCT("a" BIGINT)')
    assert columns[2] == JsonColumn("timestamp", EPOCH_MS)
    (row,) = rows(columns, value)
    assert (row[0], row[2].timestamp(), row[-2], row[-1]) == ("e", 1.0, {"a": 1}, None)
