"""Publishes the progress of a run once a second: on the terminal, in the status file, as group offsets."""

import os
import threading
from collections.abc import Callable, Mapping

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.status import RunStatus, write_status
from penstock.spark.pipeline.progress.terminal import Display

_INTERVAL_S = 1.0


class Reporter:
    """Runs in a thread, from the constructor to `close`, which reports the end."""

    def __init__(
        self,
        *,
        monitor: Monitor,
        display: Display,
        directory: str,
        pipeline: Pipeline,
        groups: Mapping[str, str],  # query -> consumer group
        publish: Callable[[Mapping[str, Offsets]], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._monitor = monitor
        self._display = display
        self._directory = directory
        self._pipeline = pipeline
        self._groups = groups
        self._publish = publish
        self._now_ms = now_ms
        self._started_ms = now_ms()
        self._closing = threading.Event()
        self._is_disk_failing = False
        self._report(self.status())
        self._thread = threading.Thread(target=self._work, name="pipeline-reporter", daemon=True)
        self._thread.start()

    def status(self, exit_code: int | None = None) -> RunStatus:
        now_ms = self._now_ms()
        return RunStatus(
            pipeline=self._pipeline.name,
            file=self._pipeline.path,
            pid=os.getpid(),
            started_ms=self._started_ms,
            updated_ms=now_ms,
            ended_ms=None if exit_code is None else now_ms,
            exit_code=exit_code,
            queries=self._monitor.statuses(now_ms),
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
        self._display.show(status.queries)
        consumed = self._monitor.consumed()
        self._publish({self._groups[name]: offsets for name, offsets in consumed.items()})
        try:
            write_status(self._directory, status)
        except OSError as error:  # a full disk: the pipeline itself may continue
            if not self._is_disk_failing:
                self._display.print(f"cannot write the status file, will retry: {error}")
            self._is_disk_failing = True
        else:
            self._is_disk_failing = False
