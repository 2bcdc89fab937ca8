"""Runs the workloads one after the other, and writes a file of results."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn, Protocol

from penstock_bench import machine, report
from penstock_bench.catalogue import WORKLOADS, Workload
from penstock_bench.context import Bench, TimeLimitReached
from penstock_bench.figures import Findings, Section
from penstock_bench.peers.clusters.targets import CLUSTER_TARGETS
from penstock_bench.peers.targets import TARGETS, TRANSACTION_TARGETS, Target
from penstock_bench.scale import Scale


class Progress(Protocol):
    """Receives the progress of a run."""

    def log(self, what: str) -> None: ...

    def workload(self, title: str, number: int, count: int) -> None:
        """Called when a workload begins, the `number`th of `count`."""

    def step(self, done: int, count: int) -> None:
        """Called after each round of a workload."""


def run(
    scale: Scale,
    keys: str,
    results_dir: str,
    progress: Progress,
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
                sections = _run_all(
                    bench, [each for each in WORKLOADS.values() if each.letter in keys], progress
                )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    targets = target_states(bench.fleet.versions, bench.fleet.absent)
    result = report.Report(machine=described, scale=str(scale), sections=sections, targets=targets)
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + ".json"
    with open(os.path.join(results_dir, name), "wb") as file:
        file.write(report.to_json(result))
    return result


def _run_all(bench: Bench, workloads: Sequence[Workload], progress: Progress) -> tuple[Section, ...]:
    sections = []
    for number, workload in enumerate(workloads, start=1):
        progress.workload(f"({workload.letter}) {workload.title}", number, len(workloads))
        sections.append(run_one(bench, workload))
    return tuple(sections)


def target_states(versions: dict[str, str], absent: dict[str, str]) -> tuple[report.TargetState, ...]:
    """Return the state of every target, also of missing ones; nothing when the run compared no peers."""
    if not versions and not absent:
        return ()
    return tuple(
        report.TargetState(
            name=target.name,
            server=f"{target.server} {versions.get(target.server, '')}".strip(),
            durability=target.durability,
            state=_state(target.server, versions, absent),
        )
        for target in _all_targets(versions, absent)
    )


def _all_targets(versions: dict[str, str], absent: dict[str, str]) -> list[Target]:
    """Return the targets of all comparisons, and those of single comparisons in this run."""
    asked = {*versions, *absent}
    more = (*TRANSACTION_TARGETS, *CLUSTER_TARGETS)
    return [*TARGETS, *(target for target in more if target not in TARGETS and target.server in asked)]


def _state(server: str, versions: dict[str, str], absent: dict[str, str]) -> str:
    if server in absent:
        return f"**missing:** {absent[server]}"
    return "measured" if server in versions else "not requested"


def run_one(bench: Bench, workload: Workload) -> Section:
    """Run one workload. Its failure is reported beside what it has measured, and does not end the run."""
    bench.new_board()
    try:
        return workload.section(workload.run(bench))
    except TimeLimitReached as stop:
        reason = str(stop)
    except Exception as error:  # noqa: BLE001 - every failure of a workload is reported
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    findings = Findings(comparisons=bench.board.comparisons(), notes=bench.board.notes(), failure=reason)
    return workload.section(findings)


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
