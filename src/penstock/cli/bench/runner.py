"""Runs the workloads one after the other and tells what came out."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn, Protocol

from penstock.cli.bench import machine, report
from penstock.cli.bench.context import Bench, OutOfTime
from penstock.cli.bench.figures import Section
from penstock.cli.bench.peers.clusters.targets import CLUSTER_TARGETS
from penstock.cli.bench.peers.targets import TARGETS, TRANSACTION_TARGETS, Target
from penstock.cli.bench.scale import Scale
from penstock.cli.bench.workloads import (
    bulk_producer,
    catch_up,
    cluster_catch_up,
    cluster_failover,
    cluster_partitions,
    cluster_peers,
    cluster_peers_failover,
    cluster_publish,
    group_commit,
    groups,
    lone_producer,
    many_partitions,
    peer_bulk,
    peer_catch_up,
    peer_connections,
    peer_fan_out,
    peer_latency,
    peer_lone,
    peer_partitions,
    peer_publishers,
    peer_recovery,
    peer_start,
    peer_transactions,
    produce_rate,
    profile,
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
    peer_lone,
    peer_publishers,
    peer_bulk,
    peer_latency,
    peer_catch_up,
    peer_fan_out,
    peer_connections,
    peer_partitions,
    peer_start,
    peer_recovery,
    cluster_publish,
    cluster_failover,
    cluster_catch_up,
    cluster_partitions,
    profile,
    peer_transactions,
    cluster_peers,
    cluster_peers_failover,
)


class Watcher(Protocol):
    """Whoever wants to know how far a run is."""

    def tell(self, what: str) -> None: ...

    def workload(self, title: str, number: int, count: int) -> None:
        """The next workload begins, the `number`th of `count`."""

    def step(self, done: int, count: int) -> None:
        """So many rounds of the workload are done."""


def run(scale: Scale, keys: str, results_dir: str, watcher: Watcher, peers: str = "") -> report.Report:
    """Run the workloads whose letters are in `keys`; leaves a file of results and nothing else behind."""
    os.makedirs(results_dir, exist_ok=True)
    # Beside the results and not in /tmp, which may be memory: the disk is what is measured.
    scratch = tempfile.mkdtemp(prefix="scratch-", dir=os.path.abspath(results_dir))
    try:
        with _termination_as_exit():
            described = machine.describe(scratch)
            bench = Bench(scale, scratch, watcher.tell, watcher.step, peers)
            with contextlib.closing(bench):
                sections = _run_all(bench, [w for w in WORKLOADS if w.KEY in keys], watcher)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    targets = target_states(bench.fleet.versions, bench.fleet.absent)
    result = report.Report(machine=described, scale=str(scale), sections=sections, targets=targets)
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + ".json"
    with open(os.path.join(results_dir, name), "wb") as file:
        file.write(report.to_json(result))
    return result


def _run_all(bench: Bench, workloads: Sequence[Workload], watcher: Watcher) -> tuple[Section, ...]:
    sections = []
    for number, workload in enumerate(workloads, start=1):
        watcher.workload(f"({workload.KEY}) {workload.TITLE}", number, len(workloads))
        sections.append(run_one(bench, workload))
    return tuple(sections)


def target_states(versions: dict[str, str], absent: dict[str, str]) -> tuple[report.TargetState, ...]:
    """Every target, the missing ones too, when any was asked for; none when the run had no peers in it."""
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
    """Those of all comparisons, and those of single ones that were asked for."""
    asked = {*versions, *absent}
    more = (*TRANSACTION_TARGETS, *CLUSTER_TARGETS)
    return [*TARGETS, *(target for target in more if target not in TARGETS and target.server in asked)]


def _state(server: str, versions: dict[str, str], absent: dict[str, str]) -> str:
    if server in absent:
        return f"**missing:** {absent[server]}"
    return "measured" if server in versions else "not asked for"


def run_one(bench: Bench, workload: Workload) -> Section:
    """One workload that fails must not take the others' figures with it, nor those that it has measured before; its
    failure stands in the report.
    """
    bench.new_board()
    try:
        return workload.run(bench)
    except OutOfTime as stop:
        reason = str(stop)
    except Exception as error:  # noqa: BLE001 - any failure of a workload is told, none is hidden
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Section(
        key=workload.KEY,
        title=workload.TITLE,
        method=workload.METHOD,
        comparisons=bench.board.comparisons(),
        notes=bench.board.notes(),
        failure=reason,
    )


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
