"""Reads a query's parse tree, which DuckDB gives as JSON: its tables, and the names of its columns. No I/O.

Only queries are accepted. Names of columns are collected without resolving them, so a name may be counted for a table
that does not have it: this decides how a column is read and never whether it can be.
"""

import functools
import json
import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import duckdb
import msgspec

from penstock.sql.errors import SqlError, of_duckdb, position_at

_EXPLAIN: Final = re.compile(r"\s*explain\s+(analyze\s+)?", re.IGNORECASE)
_NO_INDEX: Final = 2**64 - 1
_ALL_COLUMNS: Final = frozenset({"STAR", "SHOW_REF", "PIVOT"})


class TableName(msgspec.Struct, frozen=True):
    """A table as the query first writes it; `path` has more than one part if it is written with dots."""

    path: tuple[str, ...]
    index: int | None = None

    @property
    def name(self) -> str:
        return ".".join(self.path)


class Query(msgspec.Struct, frozen=True, kw_only=True):
    text: str  # without EXPLAIN
    explains: Literal["plan", "run"] | None
    tables: tuple[TableName, ...]
    with_names: frozenset[str]  # defined by the query itself, in a WITH
    columns: frozenset[str] | None  # in lower case; None: all columns may be read
    lists_tables: bool
    describes: bool
    tree: dict[str, Any]

    def may_read(self, column: str) -> bool:
        return self.columns is None or column.lower() in self.columns

    def position(self, table: TableName) -> tuple[int, int] | None:
        return None if table.index is None else position_at(self.text, table.index)


def parse_query(text: str) -> Query:
    """Raises `SqlError` for text that is not one query."""
    explain = _EXPLAIN.match(text)
    body = text[explain.end() :] if explain else text
    statements = _statements(body)
    if len(statements) != 1:
        count = len(statements) or "no"
        raise SqlError(f"{count} statements were given: write one query")
    parsed = json.loads(
        _parser()
        .cursor()
        .execute("SELECT json_serialize_sql(?)", [body.rstrip().rstrip(";")])
        .fetchall()[0][0]
    )
    if parsed["error"]:
        kind = str(statements[0].type).rpartition(".")[2].upper()
        if kind == "MULTI":
            raise SqlError("PIVOT needs its values: write ON column IN (value, …)")
        raise SqlError(
            f"{kind} is not a query: only SELECT, FROM, WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW TABLES and EXPLAIN "
            "of them can be run, because this reads topics and never writes"
        )
    tree = parsed["statements"][0]["node"]
    nodes = list(nodes_of(tree))
    tables: dict[str, TableName] = {}
    for table in (_table(each) for each in nodes if _is_table(each)):
        tables.setdefault(table.name.lower(), table)
    return Query(
        text=body,
        explains=None if explain is None else "run" if explain[1] else "plan",
        tables=tuple(tables.values()),
        with_names=frozenset(
            entry["key"].lower() for node in nodes for entry in (node.get("cte_map") or {}).get("map", ())
        ),
        columns=_columns(nodes),
        lists_tables=any(
            node.get("show_type") == "SHOW_SPECIAL" and "tables" in str(node.get("table_name"))
            for node in nodes
        ),
        describes=(tree.get("from_table") or {}).get("show_type") in ("DESCRIBE", "SHOW"),
        tree=tree,
    )


def _statements(text: str) -> list[Any]:
    try:
        found: list[Any] = _parser().cursor().extract_statements(text)
    except duckdb.Error as error:
        raise of_duckdb(error, text) from None
    return found


@functools.cache
def _parser() -> Any:
    return duckdb.connect(config={"enable_external_access": "false"})


def nodes_of(value: Any) -> Iterator[dict[str, Any]]:
    """Walk the tree: every node is an object."""
    if isinstance(value, list):
        for each in value:
            yield from nodes_of(each)
    elif isinstance(value, dict):
        yield value
        for each in value.values():
            yield from nodes_of(each)


def _is_table(node: dict[str, Any]) -> bool:
    return node.get("type") == "BASE_TABLE" or (
        node.get("type") == "SHOW_REF" and node.get("show_type") == "SHOW" and bool(node.get("table_name"))
    )


def _table(node: dict[str, Any]) -> TableName:
    path = [node.get("catalog_name"), node.get("schema_name"), node["table_name"]]
    index = node.get("query_location", _NO_INDEX)
    return TableName(tuple(part for part in path if part), None if index == _NO_INDEX else index)


def _columns(nodes: list[dict[str, Any]]) -> frozenset[str] | None:
    """Collect the names in column references. A table's own name as a value means all its columns."""
    names: set[str] = set()
    tables: set[str] = set()
    for node in nodes:
        if node.get("class") in _ALL_COLUMNS or node.get("type") in _ALL_COLUMNS:
            return None
        if node.get("ref_type") not in (None, "REGULAR", "CROSS"):  # NATURAL and others
            return None
        names.update(str(each).lower() for each in node.get("column_names") or () if isinstance(each, str))
        names.update(str(each).lower() for each in node.get("using_columns") or ())
        if node.get("type") == "BASE_TABLE":
            tables.update(str(each).lower() for each in (node["table_name"], node.get("alias")) if each)
    single = {
        str(node["column_names"][0]).lower() for node in nodes if len(node.get("column_names") or ()) == 1
    }
    return None if single & tables else frozenset(names)
