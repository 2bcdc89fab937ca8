"""Keeps the queries of a pipeline running: starts them, restarts failed ones, and stops them in order.

A failed query does not stop the others. Each query is in one of the states of `progress.status`. The pause before a
restart doubles with each recent failure; after too many of them the query is given up. `Starter` and `RunningQuery` are
the interface to the engine; time comes from the constructor's arguments.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from penstock.spark.durations import format_duration
from penstock.spark.pipeline.core.model import Restart
from penstock.spark.pipeline.core.queries import PlannedQuery, Round
from penstock.spark.pipeline.progress import status
from penstock.spark.pipeline.progress.batch import Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.run.failures import is_stop, reason_of

_ROUNDS_MAX = 1_000  # of queries that feed each other; more is a loop
_FINISH_BATCH_TIMEOUT_MS = 60_000
_STARTING_MAX = 2
_OPEN_TIMEOUT_MS = 15_000
_PAUSE_MS_MAX = 60_000


class CannotStart(Exception):
    """The engine refuses the query; a retry would fail too."""


class RunningQuery(Protocol):
    """A running query, of any engine."""

    def is_active(self) -> bool: ...

    def is_starting(self) -> bool:
        """Say whether it is still opening its sources."""

    def failure(self) -> str | None:
        """Return the text of the exception that ended the query; None if it runs or ended well."""

    def progress(self) -> Sequence[Progress]:
        """Return the recent batches."""

    def is_between_batches(self) -> bool: ...

    def last_batch(self) -> int: ...

    def stop(self) -> None: ...


Starter = Callable[[PlannedQuery], RunningQuery]


class _Kept:
    def __init__(self, planned: PlannedQuery) -> None:
        self.planned = planned
        self.running: RunningQuery | None = None
        self.failures_ms: list[int] = []
        self.restart_at_ms: int | None = None
        self.given_up: str | None = None


class Supervisor:
    """`run` and `run_once` return when all queries have ended; `given_up` then has those that failed for good."""

    def __init__(
        self,
        *,
        start: Starter,
        restart: Restart,
        monitor: Monitor,
        report: Callable[[str], None],
        stopping: threading.Event,
        now_ms: Callable[[], int],
        pause: Callable[[], None],
    ) -> None:
        self._start = start
        self._restart = restart
        self._monitor = monitor
        self._report = report
        self._stopping = stopping
        self._now_ms = now_ms
        self._pause = pause
        self.given_up: dict[str, str] = {}  # name of the query -> reason

    # -- until a signal

    def run(self, queries: Sequence[PlannedQuery]) -> None:
        """Keep the queries running until a stop is requested, or until all are given up."""
        kept = [_Kept(planned) for planned in queries]
        self._launch_all(kept)
        while not self._stopping.is_set() and any(each.given_up is None for each in kept):
            for each in kept:
                self._check(each, ends_well=False)
            self._pause()
        self._stop(kept)

    # -- once

    def run_once(self, rounds: Sequence[Round]) -> None:
        """Run the rounds in turn; repeat a round of queries that feed each other until it reads nothing new."""
        for round_ in rounds:
            for _ in range(_ROUNDS_MAX):
                rows = self._finish(round_.queries)
                if self._stopping.is_set() or not round_.repeats or not rows:
                    break
            else:
                names = ", ".join(query.name for query in round_.queries)
                self._give_up(names, f"reads new records after {_ROUNDS_MAX} rounds: topics form a loop")
            if self._stopping.is_set():
                return

    def _finish(self, queries: Sequence[PlannedQuery]) -> int:
        """Run queries until each has read all records; return the number of rows."""
        kept = [_Kept(planned) for planned in queries if planned.name not in self.given_up]
        names = [each.planned.name for each in kept]
        rows_before = self._monitor.rows(names)
        self._launch_all(kept)
        while not self._stopping.is_set():
            for each in kept:
                self._check(each, ends_well=True)
            if not any(each.running is not None or each.restart_at_ms is not None for each in kept):
                break
            self._pause()
        self._stop(kept)
        return self._monitor.rows(names) - rows_before

    # -- one query

    def _launch_all(self, kept: Sequence[_Kept]) -> None:
        """Start a few at a time: Spark allows the Python process of a source only ten seconds to start."""
        for each in kept:
            if self._stopping.is_set():
                return
            self._launch(each)
            deadline_ms = self._now_ms() + _OPEN_TIMEOUT_MS
            while self._starting(kept) >= _STARTING_MAX and self._now_ms() < deadline_ms:
                self._pause()

    def _starting(self, kept: Sequence[_Kept]) -> int:
        return sum(
            1 for each in kept if each.running and each.running.is_active() and each.running.is_starting()
        )

    def _launch(self, kept: _Kept) -> None:
        kept.restart_at_ms = None
        try:
            kept.running = self._start(kept.planned)
        except CannotStart as error:
            self._failed(kept, str(error), is_final=True)
        except Exception as error:  # noqa: BLE001 - the other queries continue
            self._failed(kept, str(error), is_final=False)
        else:
            self._monitor.changed(kept.planned.name, status.RUNNING)

    def _check(self, kept: _Kept, *, ends_well: bool) -> None:
        if kept.restart_at_ms is not None and self._now_ms() >= kept.restart_at_ms:
            self._launch(kept)
        running = kept.running
        if running is None or running.is_active():
            return
        self._take_progress(running)
        kept.running = None
        failure = running.failure()
        if failure is not None:
            self._failed(kept, failure, is_final=is_stop(failure))
        elif ends_well:
            self._monitor.changed(kept.planned.name, status.DONE)
        else:  # stopped through Spark, not by this process
            self._failed(kept, "it was stopped by another process", is_final=False)

    def _failed(self, kept: _Kept, text: str, *, is_final: bool) -> None:
        now_ms = self._now_ms()
        kept.failures_ms.append(now_ms)
        name, reason = kept.planned.name, reason_of(text)
        restart = self._restart
        recent = sum(now_ms - failure_ms <= restart.within_ms for failure_ms in kept.failures_ms)
        if is_final or recent > restart.attempts:
            kept.given_up = reason
            self._monitor.failed(name, status.FAILED, reason)
            often = f" (it failed {recent} times in {format_duration(restart.within_ms)})"
            self._give_up(name, reason if is_final else reason + often)
            return
        pause_ms = min(restart.backoff_ms * 2 ** (recent - 1), _PAUSE_MS_MAX)
        kept.restart_at_ms = now_ms + pause_ms
        self._monitor.failed(name, status.PAUSED, reason)
        again = f"restart {recent} of {restart.attempts} in {pause_ms / 1000:g} s"
        self._report(f"{name} failed: {reason}; {again}")

    def _give_up(self, name: str, reason: str) -> None:
        self.given_up[name] = reason
        self._report(f"{name} failed for good: {reason}")

    # -- the end

    def _stop(self, kept: Sequence[_Kept]) -> None:
        """Let each query finish its current batch, then stop it."""
        waiting = [
            (each, each.running, each.running.last_batch()) for each in kept if each.running is not None
        ]
        deadline_ms = self._now_ms() + _FINISH_BATCH_TIMEOUT_MS
        while waiting:
            still = []
            for each, running, batch in waiting:
                if not (
                    not running.is_active()
                    or running.is_between_batches()
                    or running.last_batch() != batch
                    or self._now_ms() >= deadline_ms
                ):
                    still.append((each, running, batch))
                    continue
                running.stop()
                self._take_progress(running)
                each.running = None
                self._monitor.changed(each.planned.name, status.STOPPED)
            waiting = still
            if waiting:
                self._pause()
        for each in kept:
            if each.restart_at_ms is not None:
                self._monitor.changed(each.planned.name, status.STOPPED)

    def _take_progress(self, running: RunningQuery) -> None:
        """Record batches that the listener may have missed."""
        for progress in running.progress():
            self._monitor.progressed(progress)
