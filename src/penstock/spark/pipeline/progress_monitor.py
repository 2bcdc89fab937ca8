"""Keeps what is known about each query of a run: told by the listener and the supervisor, asked by everyone else."""

import threading
from collections.abc import Iterable

from penstock.spark.pipeline.progress import Offsets, Progress
from penstock.spark.pipeline.progress_lag import LagClock
from penstock.spark.pipeline.status import STARTING, QueryStatus


class _Query:
    __slots__ = (
        "broken",
        "dead_letters",
        "failures",
        "lag",
        "last",
        "last_error",
        "last_with_rows",
        "late_rows",
        "rows",
        "state",
    )

    def __init__(self) -> None:
        self.state = STARTING
        self.last: Progress | None = None
        self.last_with_rows: Progress | None = None
        self.rows = 0
        self.late_rows = 0
        self.dead_letters = 0
        self.broken: dict[str, dict[str, int]] = {}
        self.failures = 0
        self.last_error: str | None = None
        self.lag = LagClock()


class Monitor:
    """Told from Spark's threads and the supervisor's, so everything is under one lock."""

    __slots__ = ("_lock", "_queries")

    def __init__(self, names: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._queries = {name: _Query() for name in names}

    def progressed(self, progress: Progress) -> bool:
        """Take in a micro-batch; False when it is known already, or not of this run."""
        with self._lock:
            query = self._queries.get(progress.query)
            if query is None or (query.last is not None and progress.at_ms <= query.last.at_ms):
                return False
            query.last = progress
            if progress.input_rows:
                query.last_with_rows = progress
            query.rows += progress.input_rows
            query.late_rows += progress.late_rows
            query.dead_letters += progress.dead_letters
            for owner, counts in progress.broken.items():
                known = query.broken.setdefault(owner, {})
                for rule, count in counts.items():
                    known[rule] = known.get(rule, 0) + count
            query.lag.see(progress.latest, progress.at_ms)
            return True

    def changed(self, name: str, state: str) -> None:
        with self._lock:
            self._queries[name].state = state

    def failed(self, name: str, state: str, reason: str) -> None:
        with self._lock:
            query = self._queries[name]
            query.state = state
            query.failures += 1
            query.last_error = reason

    def rows(self, names: Iterable[str]) -> int:
        with self._lock:
            return sum(self._queries[name].rows for name in names)

    def consumed(self) -> dict[str, Offsets]:
        """What each query has read, by name."""
        with self._lock:
            return {
                name: query.last.consumed
                for name, query in self._queries.items()
                if query.last is not None and query.last.consumed
            }

    def statuses(self, now_ms: int) -> tuple[QueryStatus, ...]:
        with self._lock:
            return tuple(_status(name, query, now_ms) for name, query in self._queries.items())


def _status(name: str, query: _Query, now_ms: int) -> QueryStatus:
    told = QueryStatus(
        name=name,
        state=query.state,
        rows=query.rows,
        late_rows=query.late_rows,
        dead_letters=query.dead_letters,
        broken={owner: dict(counts) for owner, counts in query.broken.items()},
        failures=query.failures,
        last_error=query.last_error,
    )
    last = query.last
    if last is None:
        return told
    # Rates and durations of a trigger that found nothing say nothing.
    busy = query.last_with_rows or last
    return QueryStatus(
        **{field: getattr(told, field) for field in _COUNTED},
        batch_id=last.batch_id,
        last_batch_ms=last.at_ms,
        input_rows_per_second=last.input_rows_per_second,
        processed_rows_per_second=last.processed_rows_per_second,
        batch_duration_ms=busy.batch_ms,
        lag_records=last.lag_records,
        lag_seconds=(None if last.lag_records is None else query.lag.seconds_behind(last.consumed, now_ms)),
        state_rows=last.state_rows,
        state_bytes=last.state_bytes,
        watermark=last.watermark,
    )


_COUNTED = (
    "name",
    "state",
    "rows",
    "late_rows",
    "dead_letters",
    "broken",
    "failures",
    "last_error",
)
