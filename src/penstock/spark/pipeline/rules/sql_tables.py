"""Finds the tables that a SQL query reads, without Spark. Pure.

A query that sqlglot cannot parse yields the names after FROM and JOIN: Spark decides whether the query is valid.
Databricks' dialect is Spark's with `STREAM`, which Spark has had since version 4.
"""

from collections.abc import Iterator, Sequence

import msgspec
import sqlglot
from sqlglot import Token, exp
from sqlglot.errors import ParseError, TokenError

_DIALECT = "databricks"


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A table that the query reads: its name as written, with its dots, and its line in the text (from 0)."""

    name: str
    line: int


def referenced_tables(query: str) -> list[Reference]:
    """Return the tables in the order of the text, each once, without those that `WITH` defines.

    Raises ValueError for a text that has no tokens, such as one with a quote that is never closed.
    """
    try:
        tokens = sqlglot.tokenize(query, dialect=_DIALECT)
    except TokenError:
        raise ValueError("the query has a quote or a comment that is never closed") from None
    try:
        trees = sqlglot.parse(_with_from(query, tokens), dialect=_DIALECT)
    except ParseError:
        references = _named_after_from(tokens)
    else:
        tables = [table for tree in trees if tree is not None for table in tree.find_all(exp.Table)]
        read = sorted(filter(_is_read, tables), key=lambda each: each.this.meta["start"])
        references = [
            Reference(name=".".join(part.name for part in table.parts), line=table.parts[0].meta["line"] - 1)
            for table in read
        ]
    first: dict[str, Reference] = {}
    for each in references:
        first.setdefault(each.name.casefold(), each)
    return list(first.values())


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


def _is_read(table: exp.Table) -> bool:
    if not isinstance(table.this, exp.Identifier) or "line" not in table.this.meta:
        return False  # a function, or a name that sqlglot made up
    return len(table.parts) > 1 or table.name.casefold() not in _defined_above(table)


def _defined_above(table: exp.Table) -> Iterator[str]:
    """Yield the names that `WITH` defines where the table stands: a definition sees the ones before it."""
    child: exp.Expr = table
    while (parent := child.parent) is not None:
        if isinstance(parent, exp.With):
            for definition in parent.expressions:
                if definition is child and not parent.recursive:
                    break
                yield definition.alias.casefold()
                if definition is child:
                    break
            parent = parent.parent or parent  # past the query that the WITH belongs to
        elif isinstance(with_ := parent.args.get("with_"), exp.With):
            yield from (definition.alias.casefold() for definition in with_.expressions)
        child = parent
