"""Errors of queries. Their texts are for the person who wrote the query."""

import re

import duckdb

_LINE = re.compile(r"\n*LINE (\d+): (.*)\n( *)\^[\^~]*", re.DOTALL)
_NAMED = re.compile(r'(?:column|Function with name|Table with name) "?(\w+)"? ', re.IGNORECASE)
_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")


class SqlError(Exception):
    """A query cannot be run, or failed. `position` is the line and the column, from 1, that is wrong."""

    def __init__(self, message: str, position: tuple[int, int] | None = None) -> None:
        where = f" (line {position[0]}, column {position[1]})" if position else ""
        super().__init__(message + where)
        self.position = position


def of_duckdb(error: Exception, query: str) -> SqlError:
    """Translate an error of DuckDB: its marker below the query becomes a line and a column."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return SqlError(
            "the query needs more memory than its limit, also with what it can spill to disk: raise the limit "
            "(--memory-limit), or read fewer columns or groups"
        )
    text = _KIND.sub("", str(error).strip())
    marked = _LINE.search(text)
    if marked is None:
        return SqlError(" ".join(text.split()), _named_position(text, query))
    message = " ".join(text[: marked.start()].split())
    line = int(marked[1])
    # DuckDB shortens long lines, and puts the marker below the shortened text.
    column = len(marked[3]) - len(f"LINE {line}: ") + 1
    shown = marked[2].splitlines()[0]
    if shown.startswith("..."):
        found = query.splitlines()[line - 1].find(shown.strip("."))
        column = column - len("...") + max(found, 0)
    return SqlError(message, (line, max(column, 1)))


def _named_position(text: str, query: str) -> tuple[int, int] | None:
    """Find the name that an error without a marker quotes."""
    named = _NAMED.search(text)
    found = re.search(rf"\b{re.escape(named[1])}\b", query, re.IGNORECASE) if named else None
    return position_at(query, found.start()) if found else None


def position_at(query: str, index: int) -> tuple[int, int]:
    """Return the line and the column of a character of the query."""
    before = query[:index]
    return before.count("\n") + 1, index - (before.rfind("\n") + 1) + 1
