"""`penstock bench`: measures this broker beside the limits of this machine and beside its peers.

An ordinary client and some processes: it uses no part of the broker but the protocol's codec. `catalogue.toml`
describes the workloads, `workloads/` has the function of each, which starts its own brokers, interleaves what it
compares, and leaves its values on a board. `runner.py` runs them, `report.py` writes the page, `plots.py` draws it.
"""

import os
import sys
from typing import TYPE_CHECKING

import msgspec
import typer

from penstock.cli.errors import CommandError, UsageError
from penstock_bench.catalogue import WORKLOADS, letters

if TYPE_CHECKING:
    from rich.console import Console

    from penstock_bench import report

_PEERS, _CLUSTER, _REFERENCE = map(letters, ("peers", "cluster", "reference_commit"))


def bench(
    *,
    list_workloads: bool = typer.Option(
        False, "--list", help="List the workloads with their letters and goals, and exit."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="Use small sizes: a minute or two, to try it out and not for figures."
    ),
    only: str = typer.Option("", metavar="LETTERS", help="Run these workloads, like `bc`."),
    peers: bool = typer.Option(
        False, "--peers", help=f"Run the workloads that compare with other brokers: {_PEERS}."
    ),
    cluster: bool = typer.Option(False, "--cluster", help=f"Run the workloads on three brokers: {_CLUSTER}."),
    targets: str = typer.Option(
        "",
        metavar="NAMES",
        help="Compare only targets whose name contains one of these, like `penstock,kafka`.",
    ),
    against: str | None = typer.Option(
        None,
        "--against",
        metavar="DIR",
        help=f"Compare with the source tree of another commit, like a git worktree: {_REFERENCE}.",
    ),
    rounds: int | None = typer.Option(None, min=1, metavar="N", help="Measure everything this many times."),
    seconds: float | None = typer.Option(
        None, min=0.1, metavar="SECONDS", help="Run timed measurements for this many seconds."
    ),
    max_minutes: float | None = typer.Option(
        None, min=0.1, metavar="MINUTES", help="Start no further step after this many minutes."
    ),
    log_gb: float | None = typer.Option(
        None,
        "--log-gb",
        min=0.01,
        metavar="GB",
        envvar="BENCH_LOG_GB",
        help="Size of the log for recovery and for a node that catches up.",
    ),
    results: str = typer.Option(
        "bench-results",
        metavar="DIR",
        help="Write results to this directory. Brokers keep their data there during the run.",
    ),
    write_docs: str | None = typer.Option(
        None,
        "--write-docs",
        metavar="FILE",
        help="Write the page with all figures to this file, its pictures beside it.",
    ),
    earlier: list[str] = typer.Option(
        [],
        "--with",
        metavar="FILE",
        help="Add workloads that this run does not have from the results of an earlier run (repeatable).",
    ),
) -> None:
    """Benchmark against this machine's limits and other brokers.

    Starts its own brokers on loopback, on free ports, and removes their data. `python -m tools.setup_peers` installs
    the peers; the report names those that are missing.

    For example:

      penstock bench --quick
      penstock bench --peers --targets penstock,kafka
      penstock bench --only ln --rounds 5 --seconds 2
      penstock bench --against ../penstock-before
    """
    if list_workloads:
        _print_workloads()
        return
    from rich.console import Console

    from penstock_bench import report, runner, scale
    from penstock_bench.progress import ProgressBars

    if sys.platform != "linux":
        raise CommandError("the benchmark cannot run here: it reads /proc and needs Linux")
    selected = (_PEERS if peers else "") + (_CLUSTER if cluster else "") + (_REFERENCE if against else "")
    chosen = only or selected or letters("machine", "peers", "cluster")
    if unknown := set(chosen) - set(WORKLOADS):
        raise UsageError(f"--only {only}: there is no workload {', '.join(sorted(unknown))}, see --list")
    if _REFERENCE in chosen and against is None:
        raise UsageError(f"workload {_REFERENCE} needs --against DIR")
    reference = None if against is None else _find_source(against)
    sizes = scale.QUICK if quick else scale.FULL
    machine_only = set(letters("machine"))
    allowed = (sizes.minutes_max if set(chosen) & machine_only else 0) + (
        sizes.cluster.minutes_max if set(chosen) - machine_only else 0
    )
    sizes = scale.adjust(
        sizes, rounds=rounds, seconds=seconds, minutes_max=max_minutes or allowed, log_gb=log_gb
    )
    older = [_read(path) for path in earlier]
    console = Console()
    with ProgressBars(console) as bars:
        result = runner.run(sizes, chosen, results, bars, targets, against=reference)
    _print(result, console)
    if write_docs is not None:
        _write_page(report.merged(result, older), write_docs)
    if any(section.failure is not None for section in result.sections):
        raise CommandError("some workloads were not measured, see above")


def _find_source(directory: str) -> str:
    """Return the directory that holds the package in the source tree of another commit."""
    for found in (os.path.join(directory, "src"), directory):
        if os.path.isdir(os.path.join(found, "penstock")):
            return os.path.abspath(found)
    raise UsageError(f"--against {directory}: it has no src/penstock")


def _read(path: str) -> "report.Report":
    from penstock_bench import report

    try:
        with open(path, "rb") as file:
            return report.from_json(file.read())
    except OSError as error:
        raise UsageError(f"--with {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"--with {path} is not a result of this benchmark: {error}") from error


def _print_workloads() -> None:
    for each in WORKLOADS.values():
        print(f"{each.letter}  {each.title} ({each.group})")
        for label, bound in each.goals.items():
            print(f"     {label} {bound}")


def _print(result: "report.Report", console: "Console") -> None:
    from rich.table import Table

    from penstock_bench import report

    table = Table(
        "", "what", "median", "lowest … highest", "goal", title="Ratios and goals (median of the rounds)"
    )
    for row in report.summary_rows(result.sections):
        table.add_row(*row)
    console.print(table)
    for target in result.targets:
        if target.state.startswith("**missing"):
            console.print(f"{target.name}: {target.state.replace('*', '')}", markup=False)
    for section in result.sections:
        for note in section.notes:
            console.print(f"({section.key}) {note}", markup=False)
        if section.failure is not None:
            console.print(f"({section.key}) was not measured: {section.failure}", markup=False)


def _write_page(result: "report.Report", path: str) -> None:
    from penstock_bench import plots, report

    directory = os.path.splitext(path)[0]
    drawn = plots.draw(result.sections, directory)
    pictures = {
        key: [os.path.join(os.path.basename(directory), name) for name in names]
        for key, names in drawn.items()
    }
    with open(path, "w", encoding="utf-8") as file:
        file.write(report.to_markdown(result, pictures))
