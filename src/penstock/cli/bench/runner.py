"""Runs the workloads one after the other and tells what came out."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn, Protocol

from penstock.cli.bench import machine, report
from penstock.cli.bench.context import Bench, OutOfTime
from penstock.cli.bench.figures import Section
from penstock.cli.bench.scale import Scale
from penstock.cli.bench.workloads import (
    bulk_producer,
    catch_up,
    group_commit,
    groups,
    lone_producer,
    many_partitions,
    produce_rate,
    recovery,
    spark,
    start_and_memory,
    transactions,
)


class Workload(Protocol):
    """What every module of `workloads` offers."""

    KEY: str
    TITLE: str
    METHOD: str

    def run(self, bench: Bench) -> Section: ...


WORKLOADS: tuple[Workload, ...] = (
    bulk_producer,
    lone_producer,
    group_commit,
    catch_up,
    produce_rate,
    start_and_memory,
    many_partitions,
    recovery,
    groups,
    transactions,
    spark,
)


def run(scale: Scale, keys: str, results_dir: str, tell: Callable[[str], None]) -> report.Report:
    """Run the workloads whose letters are in `keys`; leaves a file of results and nothing else behind."""
    os.makedirs(results_dir, exist_ok=True)
    # Beside the results and not in /tmp, which may be memory: the disk is what is measured.
    scratch = tempfile.mkdtemp(prefix="scratch-", dir=results_dir)
    try:
        with _termination_as_exit():
            described = machine.describe(scratch)
            bench = Bench(scale, scratch, tell)
            sections = tuple(_run_one(bench, w) for w in WORKLOADS if w.KEY in keys)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    result = report.Report(machine=described, scale=str(scale), sections=sections)
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + ".json"
    with open(os.path.join(results_dir, name), "wb") as file:
        file.write(report.to_json(result))
    return result


def _run_one(bench: Bench, workload: Workload) -> Section:
    """One workload that fails must not take the others' figures with it; its failure stands in the report."""
    try:
        return workload.run(bench)
    except OutOfTime as stop:
        reason = str(stop)
    except Exception as error:  # noqa: BLE001 - any failure of a workload is told, none is hidden
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Section(key=workload.KEY, title=workload.TITLE, method=workload.METHOD, failure=reason)


@contextlib.contextmanager
def _termination_as_exit() -> Iterator[None]:
    """A SIGTERM unwinds like Ctrl-C does, so that brokers are ended and the scratch directory is removed."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
