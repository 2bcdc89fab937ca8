"""Shows the progress of a run: a table in place on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from penstock.spark.pipeline.core.secrets import redact
from penstock.spark.pipeline.progress.status import MaintenanceStatus, QueryStatus
from penstock.spark.text import counted

COLUMNS = (
    "query",
    "state",
    "batch",
    "rows",
    "rows/s",
    "lag",
    "behind",
    "batch time",
    "state rows",
    "dead letters",
)
_LINE_INTERVAL_S = 10.0
_UNKNOWN = "unknown"


def make_display(stream: TextIO, *, quiet: bool) -> "Display":
    if quiet:
        return Display(stream)
    if stream.isatty():
        return LiveDisplay(stream)
    return LineDisplay(stream, time.monotonic)


def cells(query: QueryStatus) -> tuple[str, ...]:
    return (
        query.name,
        query.state,
        "" if query.batch_id is None else str(query.batch_id),
        f"{query.rows:,}",
        f"{query.processed_rows_per_second:,.0f}",
        _UNKNOWN if query.lag_records is None else f"{query.lag_records:,}",
        _UNKNOWN if query.lag_seconds is None else duration(query.lag_seconds),
        duration(query.batch_duration_ms / 1000),
        f"{query.state_rows:,} ({size(query.state_bytes)})" if query.state_rows else "",
        f"{query.dead_letters:,}" if query.dead_letters else "",
    )


def line(query: QueryStatus) -> str:
    parts = [
        f"{query.name} {query.state}",
        f"{query.rows:,} rows",
        f"{query.processed_rows_per_second:,.0f} rows/s",
        f"lag {_lag(query)}",
        f"batch {query.batch_id} in {duration(query.batch_duration_ms / 1000)}",
    ]
    if query.state_rows:
        parts.append(f"state {query.state_rows:,} rows, {size(query.state_bytes)}")
    if query.dead_letters:
        parts.append(f"{query.dead_letters:,} dead letters")
    for owner, counts in query.broken.items():
        parts += [f"{owner}: {count:,} rows broke `{rule}`" for rule, count in counts.items() if count]
    return "; ".join(parts)


def describe_maintenance(table: MaintenanceStatus) -> str:
    parts = [f"maintained {counted(table.passes, 'time')}"]
    parts.append(f"merged {table.files_merged:,} files into {table.files_made:,}")
    parts.append(f"removed {table.files_removed:,} old files")
    if table.conflicts:
        parts.append(f"gave way to writers {table.conflicts:,} times")
    if table.last_error is not None:
        parts.append(f"last error: {table.last_error}")
    return f"table of {table.output}: {'; '.join(parts)}"


def _lag(query: QueryStatus) -> str:
    if query.lag_records is None or query.lag_seconds is None:
        return _UNKNOWN
    return f"{query.lag_records:,} records, {duration(query.lag_seconds)}"


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def size(count: int) -> str:
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} B"


class Display:
    """Prints messages only; subclasses show the queries too."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, queries: Sequence[QueryStatus]) -> None:
        """Nothing."""

    def print(self, line: str) -> None:
        print(f"penstock: {redact(line)}", file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is kept open."""


class LineDisplay(Display):
    """Prints a line for a query that has read rows, at most every ten seconds, and when its state changes."""

    def __init__(self, stream: TextIO, monotonic_s: Callable[[], float]) -> None:
        super().__init__(stream)
        self._monotonic_s = monotonic_s
        self._shown: dict[str, tuple[str, int, float]] = {}

    def show(self, queries: Sequence[QueryStatus]) -> None:
        now_s = self._monotonic_s()
        for query in queries:
            state, rows, at_s = self._shown.get(query.name, ("", 0, float("-inf")))
            is_due = query.rows != rows and now_s - at_s >= _LINE_INTERVAL_S
            if query.batch_id is not None and (is_due or query.state != state):
                self._shown[query.name] = (query.state, query.rows, now_s)
                self.print(line(query))


class LiveDisplay(Display):
    """Shows a table in place; printed lines scroll above it."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # noqa: PLC0415 - only for people at a terminal
        from rich.live import Live  # noqa: PLC0415

        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=False)
        self._live.start()

    def show(self, queries: Sequence[QueryStatus]) -> None:
        self._live.update(_table(queries), refresh=True)

    def print(self, line: str) -> None:
        self._console.print(f"penstock: {redact(line)}", markup=False, highlight=False)

    def close(self) -> None:
        self._live.stop()


def _table(queries: Sequence[QueryStatus]) -> Any:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("query", "state") else "right")
    for query in queries:
        table.add_row(*(Text(cell) for cell in cells(query)))
    return table
