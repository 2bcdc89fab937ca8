"""A run is reported at its beginning and at its end."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.progress.batch import Offsets, Progress
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.reporter import Observer, Reporter, write_starting
from penstock.spark.pipeline.progress.status import (
    STARTING,
    QueryStatus,
    RunStatus,
    read_status,
    write_status,
)
from penstock.spark.pipeline.progress.terminal import Display


class RecordingDisplay(Display):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, line: str) -> None:
        self.lines.append(line)


def make(
    directory: Path,
    monitor: Monitor,
    display: RecordingDisplay,
    published: list[Mapping[str, Offsets]],
    observers: Sequence[Observer] = (),
) -> Reporter:
    return Reporter(
        monitor=monitor,
        display=display,
        directory=str(directory),
        pipeline=Pipeline(name="shop", path="shop.yaml", sources=(), outputs=()),
        groups={"shop.table": "penstock-pipeline.shop.table"},
        publish=published.append,
        now_ms=lambda: 1_000,
        observers=observers,
    )


def test_the_end_is_in_the_status_file_with_the_last_numbers_and_offsets(tmp_path: Path) -> None:
    monitor, published = Monitor(["shop.table"]), list[Mapping[str, Offsets]]()
    reporter = make(tmp_path, monitor, RecordingDisplay(), published)
    begun = read_status(str(tmp_path))
    assert begun is not None
    assert begun.ended_ms is None
    monitor.record_batch(
        Progress(
            query="shop.table",
            batch_id=0,
            at_ms=5,
            input_rows=3,
            input_rows_per_second=0,
            processed_rows_per_second=0,
            batch_ms=1,
            consumed={"orders": {0: 3}},
        )
    )
    last = reporter.close(0)
    assert read_status(str(tmp_path)) == last
    assert (last.exit_code, last.ended_ms, last.queries[0].rows) == (0, 1_000, 3)
    assert published[-1] == {"penstock-pipeline.shop.table": {"orders": {0: 3}}}


def test_a_status_that_cannot_be_written_is_reported_once_and_the_run_continues(tmp_path: Path) -> None:
    display = RecordingDisplay()
    reporter = make(tmp_path / "missing", Monitor(["shop.table"]), display, [])
    reporter.close(0)
    (line,) = display.lines
    assert line.startswith("cannot write the status file, retrying: ")


def test_the_lag_of_the_last_run_is_not_shown_while_the_next_one_starts(tmp_path: Path) -> None:
    last = QueryStatus(name="shop.table", state="stopped", rows=7, lag_records=0, lag_seconds=0.0)
    pipeline = Pipeline(name="shop", path="shop.yaml", sources=(), outputs=())
    write_status(
        str(tmp_path),
        RunStatus(pipeline="shop", file="shop.yaml", pid=1, started_ms=0, updated_ms=0, queries=(last,)),
    )
    write_starting(str(tmp_path), pipeline, ["shop.table"], 5)
    status = read_status(str(tmp_path))
    assert status is not None
    assert status.queries == (QueryStatus(name="shop.table", state=STARTING),)


def test_observers_see_every_status_until_the_last(tmp_path: Path) -> None:
    seen: list[RunStatus] = []
    reporter = make(tmp_path, Monitor(["shop.table"]), RecordingDisplay(), [], observers=[seen.append])
    reporter.close(1)
    assert (seen[0].exit_code, seen[-1].exit_code) == (None, 1)
    assert len({each.run_id for each in seen}) == 1
    assert seen[0].run_id
