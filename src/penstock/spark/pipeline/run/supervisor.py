"""Keeps the queries of a pipeline running: starts them, restarts failed ones, and stops them in order.

A failed query does not stop the others, and neither does a failed output of a query with several. Each output is in one
of the states of `progress.status`. The pause before a restart doubles with each recent failure; after too many of them
the query, or the output, is given up. `Starter` and `RunningQuery` are the interface to the engine; time comes from the
constructor's arguments.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from penstock.spark.durations import format_duration
from penstock.spark.pipeline.core.model import Restart
from penstock.spark.pipeline.core.queries import QueryGroup, Round
from penstock.spark.pipeline.progress import status
from penstock.spark.pipeline.progress.batch import Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.run.failures import is_permanent, reason_of

_ROUNDS_MAX = 1_000  # of queries that feed each other; more is a loop
_FINISH_BATCH_TIMEOUT_MS = 60_000
_STARTING_MAX = 2
_OPEN_TIMEOUT_MS = 15_000
_PAUSE_MS_MAX = 60_000


class CannotStart(Exception):
    """The engine refuses the query; a retry would fail too."""


class RunningQuery(Protocol):
    def is_active(self) -> bool: ...

    def is_starting(self) -> bool: ...

    def failure(self) -> str | None:
        """Return the text of the exception that ended the query; None if it runs or ended well."""

    def progress(self) -> Sequence[Progress]: ...

    def is_between_batches(self) -> bool: ...

    def last_batch(self) -> int: ...

    def stop(self) -> None: ...


OnOutputFailure = Callable[[str, str], int | None]
"""Called with the name of one output of a running query, and its error, by any thread. Returns the pause in ms before
the output is tried again; None: it is given up."""

Starter = Callable[[QueryGroup, OnOutputFailure], RunningQuery]


@dataclass
class _SupervisedQuery:
    group: QueryGroup
    running: RunningQuery | None = None
    restart_at_ms: int | None = None
    given_up: str | None = None


@dataclass(kw_only=True)
class Supervisor:
    """`run` and `run_once` return when all queries have ended; `given_up` then has those that failed permanently."""

    start: Starter
    restart: Restart
    monitor: Monitor
    report: Callable[[str], None]
    stopping: threading.Event
    now_ms: Callable[[], int]
    pause: Callable[[], None]
    given_up: dict[str, str] = field(default_factory=dict, init=False)  # name of the output -> reason
    _failures_ms: dict[str, list[int]] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    # -- until a signal

    def run(self, groups: Sequence[QueryGroup]) -> None:
        """Keep the queries running until a stop is requested, or until all are given up."""
        supervised = [_SupervisedQuery(group) for group in groups]
        self._start_all(supervised)
        while not self.stopping.is_set() and any(each.given_up is None for each in supervised):
            for each in supervised:
                self._check(each, may_finish=False)
            self.pause()
        self._stop(supervised)

    # -- once

    def run_once(self, rounds: Sequence[Round]) -> None:
        """Run the rounds in turn; repeat a round of queries that feed each other until it reads nothing new."""
        for round_ in rounds:
            for _ in range(_ROUNDS_MAX):
                rows = self._run_to_end(round_.groups)
                if self.stopping.is_set() or not round_.repeats or not rows:
                    break
            else:
                reason = f"reads new records after {_ROUNDS_MAX} rounds: topics form a loop"
                self._give_up(", ".join(group.label for group in round_.groups), reason)
            if self.stopping.is_set():
                return

    def _run_to_end(self, groups: Sequence[QueryGroup]) -> int:
        """Run queries until each has read all records; return the number of rows."""
        supervised = [_SupervisedQuery(group) for group in groups if self._outputs_left(group)]
        names = [member.name for each in supervised for member in each.group.members]
        rows_before = self.monitor.rows(names)
        self._start_all(supervised)
        while not self.stopping.is_set():
            for each in supervised:
                self._check(each, may_finish=True)
            if not any(each.running is not None or each.restart_at_ms is not None for each in supervised):
                break
            self.pause()
        self._stop(supervised)
        return self.monitor.rows(names) - rows_before

    # -- one query

    def _start_all(self, supervised: Sequence[_SupervisedQuery]) -> None:
        """Start a few at a time: Spark allows the Python process of a source only ten seconds to start."""
        for each in supervised:
            if self.stopping.is_set():
                return
            self._start_query(each)
            deadline_ms = self.now_ms() + _OPEN_TIMEOUT_MS
            while self._count_starting(supervised) >= _STARTING_MAX and self.now_ms() < deadline_ms:
                self.pause()

    def _count_starting(self, supervised: Sequence[_SupervisedQuery]) -> int:
        return sum(
            1
            for each in supervised
            if each.running and each.running.is_active() and each.running.is_starting()
        )

    def _start_query(self, query: _SupervisedQuery) -> None:
        query.restart_at_ms = None
        try:
            query.running = self.start(query.group, self.on_output_failure)
        except CannotStart as error:
            self._on_failure(query, str(error), is_final=True)
        except Exception as error:  # noqa: BLE001 - the other queries continue
            self._on_failure(query, str(error), is_final=False)
        else:
            self._set_state(query.group, status.RUNNING)

    def _check(self, query: _SupervisedQuery, *, may_finish: bool) -> None:
        if query.restart_at_ms is not None and self.now_ms() >= query.restart_at_ms:
            self._start_query(query)
        running = query.running
        if running is None or running.is_active():
            return
        self._record_progress(running)
        query.running = None
        failure = running.failure()
        if failure is not None:
            self._on_failure(query, failure, is_final=is_permanent(failure))
        elif may_finish:
            self._set_state(query.group, status.DONE)
        else:  # stopped through Spark, not by this process
            self._on_failure(query, "it was stopped by another process", is_final=False)

    def _set_state(self, group: QueryGroup, state: str) -> None:
        for name in self._outputs_left(group):
            self.monitor.set_state(name, state)

    def _outputs_left(self, group: QueryGroup) -> list[str]:
        return [member.name for member in group.members if member.name not in self.given_up]

    # -- failures

    def on_output_failure(self, name: str, text: str) -> int | None:
        """See `OnOutputFailure`."""
        with self._lock:
            return self._decide_restart(name, [name], text, is_final=is_permanent(text))

    def _on_failure(self, query: _SupervisedQuery, text: str, *, is_final: bool) -> None:
        names = self._outputs_left(query.group)
        with self._lock:
            pause_ms = self._decide_restart(query.group.key, names, text, is_final=is_final)
        if pause_ms is None:
            query.given_up = self.given_up[names[0]] if names else reason_of(text)
        else:
            query.restart_at_ms = self.now_ms() + pause_ms

    def _decide_restart(self, key: str, names: Sequence[str], text: str, *, is_final: bool) -> int | None:
        """Return the pause before the restart of these outputs; None when they are given up."""
        now_ms = self.now_ms()
        failures_ms = self._failures_ms.setdefault(key, [])
        failures_ms.append(now_ms)
        reason, label, restart = reason_of(text), ", ".join(names), self.restart
        recent = sum(now_ms - failure_ms <= restart.within_ms for failure_ms in failures_ms)
        is_over = is_final or recent > restart.attempts
        for name in names:
            self.monitor.record_failure(name, status.FAILED if is_over else status.PAUSED, reason)
        if is_over:
            count = f" (it failed {recent} times in {format_duration(restart.within_ms)})"
            for name in names:
                self._give_up(name, reason if is_final else reason + count)
            return None
        pause_ms: int = min(restart.backoff_ms * 2 ** (recent - 1), _PAUSE_MS_MAX)
        next_step = f"restart {recent} of {restart.attempts} in {pause_ms / 1000:g} s"
        self.report(f"{label} failed: {reason}; {next_step}")
        return pause_ms

    def _give_up(self, name: str, reason: str) -> None:
        self.given_up[name] = reason
        self.report(f"{name} failed permanently: {reason}")

    # -- the end

    def _stop(self, supervised: Sequence[_SupervisedQuery]) -> None:
        """Let each query finish its current batch, then stop it."""
        waiting = [
            (each, each.running, each.running.last_batch()) for each in supervised if each.running is not None
        ]
        deadline_ms = self.now_ms() + _FINISH_BATCH_TIMEOUT_MS
        while waiting:
            unfinished = []
            for each, running, batch in waiting:
                is_in_batch = running.is_active() and not running.is_between_batches()
                if is_in_batch and running.last_batch() == batch and self.now_ms() < deadline_ms:
                    unfinished.append((each, running, batch))
                    continue
                running.stop()
                self._record_progress(running)
                each.running = None
                self._set_state(each.group, status.STOPPED)
            waiting = unfinished
            if waiting:
                self.pause()
        for each in supervised:
            if each.restart_at_ms is not None:
                self._set_state(each.group, status.STOPPED)

    def _record_progress(self, running: RunningQuery) -> None:
        """Record batches that the listener may have missed."""
        for progress in running.progress():
            self.monitor.record_batch(progress)
