"""Publishes the progress of a run once a second: on the terminal, in the status file, as group offsets."""

import contextlib
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.status import (
    STARTING,
    MaintenanceStatus,
    QueryStatus,
    RunStatus,
    write_status,
)
from penstock.spark.pipeline.progress.terminal import Display

_INTERVAL_S = 1.0

Observer = Callable[[RunStatus], None]  # called in the reporter's thread, so it must not block


def write_starting(directory: str, pipeline: Pipeline, queries: Iterable[str], now_ms: int) -> None:
    """Replace the status of the last run before Spark starts: its lag is not the lag of this run."""
    status = RunStatus(
        pipeline=pipeline.name,
        file=pipeline.path,
        pid=os.getpid(),
        started_ms=now_ms,
        updated_ms=now_ms,
        queries=tuple(QueryStatus(name=name, state=STARTING) for name in queries),
    )
    with contextlib.suppress(OSError):  # the reporter will say so
        write_status(directory, status)


@dataclass(kw_only=True)
class Reporter:
    """Runs in a thread, from the constructor to `close`, which reports the end."""

    monitor: Monitor
    display: Display
    directory: str
    pipeline: Pipeline
    groups: Mapping[str, str]  # query -> consumer group
    publish: Callable[[Mapping[str, Offsets]], None]
    now_ms: Callable[[], int]
    observers: Sequence[Observer] = ()
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    maintenance: Callable[[], tuple[MaintenanceStatus, ...]] = tuple

    def __post_init__(self) -> None:
        self._started_ms = self.now_ms()
        self._closing = threading.Event()
        self._is_disk_failing = False
        self._report(self.status())
        self._thread = threading.Thread(target=self._work, name="pipeline-reporter", daemon=True)
        self._thread.start()

    def status(self, exit_code: int | None = None) -> RunStatus:
        now_ms = self.now_ms()
        return RunStatus(
            pipeline=self.pipeline.name,
            file=self.pipeline.path,
            pid=os.getpid(),
            started_ms=self._started_ms,
            updated_ms=now_ms,
            ended_ms=None if exit_code is None else now_ms,
            exit_code=exit_code,
            run_id=self.run_id,
            queries=self.monitor.statuses(now_ms),
            maintenance=self.maintenance(),
        )

    def close(self, exit_code: int) -> RunStatus:
        self._closing.set()
        self._thread.join()
        last = self.status(exit_code)
        self._report(last)
        return last

    def _work(self) -> None:
        while not self._closing.wait(_INTERVAL_S):
            self._report(self.status())

    def _report(self, status: RunStatus) -> None:
        self.display.show(status.queries)
        for observer in self.observers:
            observer(status)
        consumed = self.monitor.consumed()
        self.publish({self.groups[name]: offsets for name, offsets in consumed.items()})
        try:
            write_status(self.directory, status)
        except OSError as error:  # a full disk: the pipeline itself may continue
            if not self._is_disk_failing:
                self.display.print(f"cannot write the status file, retrying: {error}")
            self._is_disk_failing = True
        else:
            self._is_disk_failing = False
