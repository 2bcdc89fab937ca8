"""Shows runs as rows. No I/O."""

from datetime import UTC, datetime

from penstock.spark.pipeline.progress.status import FAILED, RunStatus
from penstock.spark.pipeline.progress.terminal import duration

COLUMNS = ("started", "took", "ended", "rows", "dead letters", "failures", "last error")


def run_row(run: RunStatus) -> tuple[object, ...]:
    if run.ended_ms is None:  # still running, or its process died
        ended = f"unknown; last seen {_time(run.updated_ms)}"
    else:
        ended = f"exit code {run.exit_code}"
    errors = [
        f"{query.name}{' (permanent)' if query.state == FAILED else ''}: {query.last_error}"
        for query in run.queries
        if query.last_error
    ]
    return (
        _time(run.started_ms),
        duration(((run.ended_ms or run.updated_ms) - run.started_ms) / 1000),
        ended,
        sum(query.rows for query in run.queries),
        sum(query.dead_letters for query in run.queries),
        sum(query.failures for query in run.queries),
        "; ".join(errors) or None,
    )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
