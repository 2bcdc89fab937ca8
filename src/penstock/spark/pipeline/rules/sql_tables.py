"""Finds the tables that a SQL query reads, without Spark. No I/O.

A query that sqlglot cannot parse yields the names after FROM and JOIN, if all are declared: Spark decides whether the
query is valid. If they are not, the query is called wrong SQL, and not its names wrong.
Databricks' dialect is Spark's with `STREAM`, which Spark has had since version 4.
"""

from collections.abc import Collection, Sequence
from typing import TypeGuard

import msgspec
import sqlglot
from sqlglot import Token, exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.optimizer.scope import traverse_scope

_DIALECT = "databricks"


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A table that the query reads: its name as written, with its dots, and its line in the text (from 0)."""

    name: str
    line: int


class WrongSql(ValueError):
    """The text is not SQL; `line` is the line in the text (from 0)."""

    def __init__(self, reason: str, line: int = 0) -> None:
        super().__init__(reason)
        self.line = line


def referenced_tables(query: str, declared: Collection[str]) -> list[Reference]:
    """Return the tables in the order of the text, each once, without those that `WITH` defines. Raises WrongSql."""
    try:
        tokens = sqlglot.tokenize(query, dialect=_DIALECT)
    except TokenError:
        raise WrongSql("the query has a quote or a comment that is never closed") from None
    try:
        trees = [
            tree for tree in sqlglot.parse(_with_from(query, tokens), dialect=_DIALECT) if tree is not None
        ]
        scopes = [scope for tree in trees for scope in traverse_scope(tree.transform(_without_stream))]
    except SqlglotError as wrong:
        references = _named_after_from(tokens)
        known = {name.casefold() for name in declared}
        if not references or any(each.name.casefold() not in known for each in references):
            raise _wrong_sql(wrong) from None
    else:
        tables = [table for scope in scopes for table in scope.sources.values() if _is_named(table)]
        references = [
            Reference(name=".".join(part.name for part in table.parts), line=table.parts[0].meta["line"] - 1)
            for table in sorted(tables, key=lambda each: each.this.meta["start"])
        ]
    first: dict[str, Reference] = {}
    for each in references:
        first.setdefault(each.name.casefold(), each)
    return list(first.values())


def _wrong_sql(wrong: SqlglotError) -> WrongSql:
    (first, *_) = getattr(wrong, "errors", None) or [{}]
    near = first.get("highlight")
    where = f" near `{near}`" if near else ""
    return WrongSql(
        f"the query is not valid SQL{where}: {first.get('description', wrong)}", first.get("line", 1) - 1
    )


def _named_after_from(tokens: Sequence[Token]) -> list[Reference]:
    """Return the names after FROM and JOIN in a text that does not parse, except those that `WITH` defines."""
    found = []
    kinds = [token.token_type.name for token in tokens]
    defined = {
        token.text.casefold()
        for token, *after in zip(tokens, kinds[1:], kinds[2:], strict=False)
        if after == ["ALIAS", "L_PAREN"]
    }
    for at, kind in enumerate(kinds):
        if kind in {"FROM", "JOIN"}:
            name = next((each for each in tokens[at + 1 :] if each.token_type.name != "L_PAREN"), None)
            if name is not None and name.token_type.name in {"VAR", "IDENTIFIER"}:
                found.append(Reference(name=name.text, line=name.line - 1))
    return [each for each in found if each.name.casefold() not in defined]


def _with_from(query: str, tokens: Sequence[Token]) -> str:
    """Write `TABLE name` as `FROM name`, which sqlglot knows; no other character moves."""
    for token in tokens:
        if token.token_type.name == "TABLE":
            query = f"{query[: token.start]}FROM {query[token.end + 1 :]}"
    return query


def _without_stream(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Stream) else node


def _is_named(source: object) -> TypeGuard[exp.Table]:
    """Say whether it is a table that the text names; others are definitions of `WITH`, subqueries and functions."""
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return False
    return "line" in source.this.meta  # else sqlglot made the name up
