"""The prompt of `penstock sql`: lines up to a semicolon are one query; completion and history as in a shell."""

import contextlib
import os
import readline
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from penstock.cli.errors import one_line
from penstock.cli.sql.command import Form, print_result

if TYPE_CHECKING:
    from penstock.sql import Session

_HISTORY: Final = "~/.penstock_sql_history"
_HISTORY_LINES: Final = 1000
_LEAVE: Final = ("exit", "quit", "\\q")
_KEYWORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING", "INTERVAL", "DESCRIBE", "SHOW TABLES",
    "EXPLAIN", "EXPLAIN ANALYZE", "SUMMARIZE", "_key", "_partition", "_offset", "_timestamp", "_headers", "_value",
    "_error", "count(*)", "sum(", "now()",
)  # fmt: skip


def run_prompt(
    session: "Session", form: Form, *, shows_stats: bool, read: Callable[[str], str] = input
) -> None:
    """Read queries until the end of the input. An error is printed, and the prompt goes on."""
    completer = Completer(session)
    with _history():
        readline.set_completer(completer.complete)
        readline.set_completer_delims(" \t\n,()=<>;")
        readline.parse_and_bind("tab: complete")
        for query in _queries(read):
            _run(session, query, form, shows_stats=shows_stats)
            completer.learn(query)


def _run(session: "Session", query: str, form: Form, *, shows_stats: bool) -> None:
    from penstock.client.errors import ClientError
    from penstock.sql import SqlError

    try:
        print_result(session.sql(query), form, sys.stdout.buffer, shows_stats=shows_stats)
    except SqlError as error:
        if error.position is not None:
            line, column = error.position
            print(f"  {query.splitlines()[line - 1]}\n  {' ' * (column - 1)}^", file=sys.stderr)
        print(f"penstock: {one_line(str(error))}", file=sys.stderr)
    except ClientError as error:
        print(f"penstock: {one_line(str(error))}", file=sys.stderr)
    except KeyboardInterrupt:
        print("penstock: the query was stopped", file=sys.stderr)


def _queries(read: Callable[[str], str]) -> Iterator[str]:
    lines: list[str] = []
    while True:
        try:
            line = read("   ...> " if lines else "penstock> ")
        except KeyboardInterrupt:
            print()
            lines = []
            continue
        except EOFError:
            print()
            return
        if not lines and line.strip().rstrip(";").lower() in _LEAVE:
            return
        lines.append(line)
        text = "\n".join(lines)
        if text.rstrip().endswith(";"):
            yield text
            lines = []
        elif not text.strip():
            lines = []


class Completer:
    """Completes keywords, topics, and the columns of topics that were named before."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._names: list[str] = []
        self._columns: set[str] = set()
        self._found: list[str] = []

    def complete(self, text: str, number: int) -> str | None:
        if number == 0:
            self._found = self.matches(text)
        return self._found[number] if number < len(self._found) else None

    def matches(self, text: str) -> list[str]:
        if not self._names:
            with contextlib.suppress(Exception):  # no names are no reason to leave the prompt
                self._names = list(self._session.names())
        words = [*self._names, *sorted(self._columns), *_KEYWORDS]
        wanted = text.lower().lstrip('"')
        return [word for word in words if word.lower().lstrip('"').startswith(wanted)]

    def learn(self, query: str) -> None:
        """Remember the columns of the tables in a query that was run."""
        with contextlib.suppress(Exception):
            self._columns |= self._session.columns_in(query)


@contextlib.contextmanager
def _history() -> Iterator[None]:
    path = os.path.expanduser(_HISTORY)
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(_HISTORY_LINES)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)
