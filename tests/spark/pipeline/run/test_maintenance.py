"""Tables of a running pipeline are looked after; no Spark is needed for that."""

import threading
from pathlib import Path

import pytest

from penstock.spark.lake.formats import open_table
from penstock.spark.pipeline.core.model import Compact, Maintain, Output, Pipeline
from penstock.spark.pipeline.outputs import ConsoleTarget, TableTarget
from penstock.spark.pipeline.run.maintenance import TableMaintenance
from tests.spark.lake.support import ids, put, rows_of

RULE = Maintain(compact=Compact(when_files=2), every_ms=10_000)


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


def pipeline(directory: Path, own: Maintain | None = None, general: Maintain | None = None) -> Pipeline:
    outputs = (
        Output(name="table", input="orders", target=TableTarget(path="orders", maintain=own)),
        Output(name="shown", input="orders", target=ConsoleTarget()),
    )
    return Pipeline(name="shop", sources=(), outputs=outputs, maintain=general, directory=str(directory))


@pytest.mark.parametrize("own", [True, False], ids=["its own rule", "the pipeline's rule"])
def test_a_table_with_a_rule_is_looked_after_and_the_status_says_what_was_done(
    tmp_path: Path, own: bool
) -> None:
    table = open_table(str(tmp_path / "orders"))
    for at in range(3):
        put(table, rows_of(at))
    lines: list[str] = []
    maintenance = TableMaintenance(
        pipeline(tmp_path, own=RULE) if own else pipeline(tmp_path, general=RULE), lines.append, Clock()
    )
    maintenance.run_pass()
    (status,) = maintenance.statuses()
    assert (status.output, status.passes, status.files_merged, status.files_made) == ("table", 1, 3, 1)
    assert (status.last_ms, status.last_error, lines) == (1_000_000, None, [])
    assert ids(table) == [0, 1, 2]


def test_tables_without_a_rule_are_left_alone(tmp_path: Path) -> None:
    assert TableMaintenance(pipeline(tmp_path), print, Clock()).statuses() == ()


def test_a_failure_is_reported_once_and_ends_with_the_next_success(tmp_path: Path) -> None:
    (tmp_path / "orders" / "_delta_log").mkdir(parents=True)
    damaged = tmp_path / "orders" / "_delta_log" / f"{0:020d}.json"
    damaged.write_text("nonsense")
    lines: list[str] = []
    maintenance = TableMaintenance(pipeline(tmp_path, RULE), lines.append, Clock())
    maintenance.run_pass()
    maintenance.run_pass()
    assert len(lines) == 1
    assert lines[0].startswith("cannot maintain the table of table, will retry: the Delta table at ")
    assert (maintenance.statuses()[0].failures, maintenance.statuses()[0].passes) == (2, 0)
    damaged.unlink()
    maintenance.run_pass()
    assert maintenance.statuses()[0].last_error is None


def test_a_pass_runs_in_the_background_when_it_is_due(tmp_path: Path) -> None:
    table = open_table(str(tmp_path / "orders"))
    for at in range(2):
        put(table, rows_of(at))
    clock = Clock()
    maintenance = TableMaintenance(pipeline(tmp_path, RULE), print, clock)
    clock.now_ms += RULE.every_ms
    maintenance.start()
    try:
        while not maintenance.statuses()[0].passes:
            threading.Event().wait(0.01)
    finally:
        maintenance.close()
    assert table.size().files == 1
