"""Runs the workloads one after the other, and writes a file of results."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from penstock_bench import machine, report
from penstock_bench.board import Board
from penstock_bench.catalogue import WORKLOADS, Workload
from penstock_bench.context import Bench, NotMeasured
from penstock_bench.figures import Section
from penstock_bench.peers.targets import CLUSTER_TARGETS, TARGETS, TRANSACTION_TARGETS
from penstock_bench.progress import ProgressBars
from penstock_bench.scale import Scale


def run(
    scale: Scale,
    keys: str,
    results_dir: str,
    progress: ProgressBars,
    peers: str = "",
    *,
    against: str | None = None,
) -> report.Report:
    """Run the workloads whose letters are in `keys`. Leaves only a file of results."""
    os.makedirs(results_dir, exist_ok=True)
    # Not in /tmp, which may be in memory: the disk is measured.
    scratch = tempfile.mkdtemp(prefix="scratch-", dir=os.path.abspath(results_dir))
    try:
        with _termination_as_exit():
            described = machine.describe(scratch)
            bench = Bench(scale, scratch, progress.log, progress.step, peers, against=against)
            with contextlib.closing(bench):
                sections = []
                chosen = [each for each in WORKLOADS.values() if each.letter in keys]
                for number, workload in enumerate(chosen, start=1):
                    title = f"({workload.letter}) {workload.title}"
                    progress.begin_workload(title, number, len(chosen))
                    sections.append(run_one(bench, workload))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    targets = target_states(bench.fleet.versions, bench.fleet.absent)
    result = report.Report(machine=described, scale=str(scale), sections=tuple(sections), targets=targets)
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + ".json"
    with open(os.path.join(results_dir, name), "wb") as file:
        file.write(report.to_json(result))
    return result


def target_states(versions: dict[str, str], absent: dict[str, str]) -> tuple[report.TargetState, ...]:
    """Return the state of every target, also of missing ones, and those of single comparisons that this run has;
    nothing when the run compared no peers.
    """
    known = {
        **dict.fromkeys(versions, "measured"),
        **{name: f"**missing:** {absent[name]}" for name in absent},
    }
    single = [each for each in (*TRANSACTION_TARGETS, *CLUSTER_TARGETS) if each not in TARGETS]
    listed = [*TARGETS, *(each for each in single if each.product_name in known)] if known else []
    return tuple(
        report.TargetState(
            name=each.name,
            server=f"{each.product_name} {versions.get(each.product_name, '')}".strip(),
            durability=each.durability,
            state=known.get(each.product_name, "not requested"),
        )
        for each in listed
    )


def run_one(bench: Bench, workload: Workload) -> Section:
    """Run one workload. Its failure is reported beside what it has measured, and does not end the run."""
    bench.board = Board()
    failure = None
    try:
        workload.run(bench)
    except NotMeasured as stop:
        failure = str(stop)
    except Exception as error:  # noqa: BLE001 - every failure of a workload is reported
        failure = f"{type(error).__name__}: {error}".splitlines()[0]
    return workload.section(bench.board.findings(failure))


@contextlib.contextmanager
def _termination_as_exit() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that brokers are stopped and the scratch directory is removed."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
