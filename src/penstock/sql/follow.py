"""Which queries can be followed: those whose rows come from one record each. No I/O."""

import functools
from collections.abc import Iterator
from typing import Any

import duckdb

from penstock.sql.errors import SqlError
from penstock.sql.query import Query, nodes_of

_MODIFIERS = {
    "ORDER_MODIFIER": "it sorts, and the last record is never known (ORDER BY)",
    "LIMIT_MODIFIER": "it has an end (LIMIT): pipe it to `head` instead",
    "LIMIT_PERCENT_MODIFIER": "it has an end (LIMIT)",
    "DISTINCT_MODIFIER": "it compares records with all earlier ones (DISTINCT)",
}
_CLASSES = {
    "WINDOW": "it compares records with others (a window function)",
    "SUBQUERY": "it has a subquery",
}


def check_followable(query: Query) -> None:
    """Raises `SqlError` with the reason."""
    reason = next(_reasons(query), None)
    if reason is not None:
        raise SqlError(
            f"this query cannot be followed: {reason}. Filters and projections of one topic can be followed"
        )


def _reasons(query: Query) -> Iterator[str]:
    tree = query.tree
    if query.explains or query.describes or query.lists_tables:
        yield "it does not read records"
    if tree.get("type") != "SELECT_NODE":
        yield "it combines queries"
        return
    if query.with_names:
        yield "it has a WITH"
    if (tree.get("from_table") or {}).get("type") != "BASE_TABLE":
        yield "it reads no single topic (a join or a subquery)"
    if (
        tree.get("group_expressions")
        or tree.get("having")
        or tree.get("aggregate_handling") == "FORCE_AGGREGATES"
    ):
        yield "it groups records, and a group is never complete (GROUP BY)"
    for name in ("sample", "qualify"):
        if tree.get(name):
            yield f"it has a {name.upper()}"
    for modifier in tree.get("modifiers", ()):
        yield _MODIFIERS.get(modifier["type"], "it changes the order or the number of rows")
    for node in nodes_of(tree):
        yield from _node_reasons(node)


def _node_reasons(node: dict[str, Any]) -> Iterator[str]:
    if node.get("class") in _CLASSES:
        yield _CLASSES[node["class"]]
    if node.get("class") == "FUNCTION" and node.get("function_name") in _aggregates():
        yield f"it has the aggregate {node['function_name'].removesuffix('_star')}, which is never complete"


@functools.cache
def _aggregates() -> frozenset[str]:
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
        ).fetchall()
    return frozenset(row[0] for row in found)
