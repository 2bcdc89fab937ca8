"""Keeps the state of each query of a run. The listener and the supervisor update it."""

import threading
from collections.abc import Iterable

from msgspec.structs import replace

from penstock.spark.pipeline.progress.batch import Offsets, Progress
from penstock.spark.pipeline.progress.lag import LagEstimator
from penstock.spark.pipeline.progress.status import RUNNING, STARTING, QueryStatus


class _Query:
    def __init__(self, name: str) -> None:
        self.status = QueryStatus(name=name, state=STARTING)
        self.last: Progress | None = None
        self.lag = LagEstimator()
        self.is_lag_known = False  # since a failure, until a batch of the restarted query says more


class Monitor:
    """Called from several threads, so one lock guards everything."""

    def __init__(self, names: Iterable[str]) -> None:
        self._lock = threading.Lock()
        self._queries = {name: _Query(name) for name in names}

    def record_batch(self, progress: Progress) -> bool:
        """Record a micro-batch; return false if it is known already, or not of this run."""
        with self._lock:
            query = self._queries.get(progress.query)
            if query is None or (query.last is not None and progress.at_ms <= query.last.at_ms):
                return False
            query.last = progress
            query.is_lag_known = progress.lag_records is not None
            query.lag.observe(progress.latest, progress.at_ms)
            query.status = _after_batch(query.status, progress)
            return True

    def record_catch_up(self, progress: Progress) -> None:
        """Record a batch of an output that was behind its group: it works again."""
        self.record_batch(progress)
        self.set_state(progress.query, RUNNING)

    def set_state(self, name: str, state: str) -> None:
        with self._lock:
            self._queries[name].status = replace(self._queries[name].status, state=state)

    def record_failure(self, name: str, state: str, reason: str) -> None:
        with self._lock:
            query = self._queries[name]
            query.is_lag_known = False
            failures = query.status.failures + 1
            query.status = replace(query.status, state=state, failures=failures, last_error=reason)

    def rows(self, names: Iterable[str]) -> int:
        with self._lock:
            return sum(self._queries[name].status.rows for name in names)

    def consumed(self) -> dict[str, Offsets]:
        with self._lock:
            return {
                name: query.last.consumed
                for name, query in self._queries.items()
                if query.last is not None and query.last.consumed
            }

    def statuses(self, now_ms: int) -> tuple[QueryStatus, ...]:
        with self._lock:
            return tuple(_with_lag(query, now_ms) for query in self._queries.values())


def _after_batch(status: QueryStatus, batch: Progress) -> QueryStatus:
    broken = {owner: dict(counts) for owner, counts in status.broken.items()}
    for owner, counts in batch.broken.items():
        known = broken.setdefault(owner, {})
        for rule, count in counts.items():
            known[rule] = known.get(rule, 0) + count
    # The duration of a trigger that found no rows says nothing.
    is_busy = batch.input_rows > 0 or status.rows == 0
    return replace(
        status,
        batch_id=batch.batch_id,
        last_batch_ms=batch.at_ms,
        rows=status.rows + batch.input_rows,
        input_rows_per_second=batch.input_rows_per_second,
        processed_rows_per_second=batch.processed_rows_per_second,
        batch_duration_ms=batch.batch_ms if is_busy else status.batch_duration_ms,
        state_rows=batch.state_rows,
        state_bytes=batch.state_bytes,
        late_rows=status.late_rows + batch.late_rows,
        dead_letters=status.dead_letters + batch.dead_letters,
        watermark=batch.watermark,
        broken=broken,
    )


def _with_lag(query: _Query, now_ms: int) -> QueryStatus:
    records = query.last.lag_records if query.last is not None and query.is_lag_known else None
    if query.last is None or records is None:
        return query.status
    seconds = query.lag.seconds_behind(query.last.consumed, now_ms)
    return replace(query.status, lag_records=records, lag_seconds=seconds)
