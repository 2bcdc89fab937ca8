"""`penstock bench`: measures this broker on this machine, beside what the machine can do at all and beside its peers.

An ordinary client and some processes: it uses no part of the broker but the protocol's codec. `runner.py` runs the
modules of `workloads/`, each of which starts its own brokers, interleaves what it compares, and gives a `Section` of
figures; `report.py` tells them, `plots.py` draws them. Letters a to k measure Penstock against the machine, l to u
and A against the peers (`peers/`), v to y a cluster of three against one broker, B and C clusters of all products; z
shows where the time goes.
"""

import os
from typing import TYPE_CHECKING

import msgspec
import typer

from penstock.cli.errors import EXIT_USAGE, CommandError

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.cli.bench import report

_MACHINE = "abcdefghijkz"
_PEERS = "lmnopqrstuA"
_CLUSTER = "vwxyBC"
LETTERS = _MACHINE + _PEERS + _CLUSTER


def bench(
    *,
    quick: bool = typer.Option(
        False, "--quick", help="Small sizes: a minute or two, for a look and not for a figure."
    ),
    only: str = typer.Option("", metavar="LETTERS", help="Which workloads, by letter, like `bc`."),
    peers: bool = typer.Option(
        False, "--peers", help=f"The workloads that compare with other brokers: {_PEERS}."
    ),
    cluster: bool = typer.Option(False, "--cluster", help=f"The workloads on three brokers: {_CLUSTER}."),
    targets: str = typer.Option(
        "",
        metavar="NAMES",
        help="Compare only targets whose name holds one of these, like `penstock,kafka`.",
    ),
    rounds: int | None = typer.Option(None, min=1, help="How often each thing is measured."),
    seconds: float | None = typer.Option(None, min=0.1, help="How long a thing measured by time runs."),
    minutes_max: float | None = typer.Option(
        None, min=0.1, help="No further step is begun after so many minutes."
    ),
    log_gb: float | None = typer.Option(
        None,
        "--log-gb",
        min=0.01,
        envvar="BENCH_LOG_GB",
        help="Size of the log that recovery, and a new node's catching up, are measured with.",
    ),
    results: str = typer.Option(
        "bench-results",
        metavar="DIR",
        help="Where results are written; brokers keep their data there meanwhile.",
    ),
    write_docs: str | None = typer.Option(
        None,
        "--write-docs",
        metavar="FILE",
        help="Write the page with all figures there, its pictures beside it.",
    ),
    earlier: list[str] = typer.Option(
        [],
        "--with",
        metavar="FILE",
        help="Results of an earlier run: the page shows its workloads where this run has none. May be given again.",
    ),
) -> None:
    """Measure the broker against what this machine can do at all, and beside its peers, and print the ratios.

    Starts brokers of its own on loopback, on free ports, and removes what they wrote. `python -m tools.setup_peers`
    gets the peers; one that is not there is named as missing.

    For example:

      penstock bench --quick
      penstock bench --peers --targets penstock,kafka
      penstock bench --only ln --rounds 5 --seconds 2
    """
    from rich.console import Console

    from penstock.cli.bench import machine, report, runner, scale
    from penstock.cli.bench.watching import Bars

    refusal = machine.check_platform()
    if refusal is not None:
        raise CommandError(f"the benchmark cannot run here: {refusal}")
    chosen = only or (_PEERS if peers else "") + (_CLUSTER if cluster else "") or LETTERS
    if set(chosen) - set(LETTERS):
        raise CommandError(f"--only {only} names no workload: give letters of {LETTERS}", EXIT_USAGE)
    sizes = scale.quick() if quick else scale.full()
    allowed = (sizes.minutes_max if set(chosen) & set(_MACHINE) else 0) + (
        sizes.cluster.minutes_max if set(chosen) - set(_MACHINE) else 0
    )
    sizes = scale.adjusted(
        sizes, rounds=rounds, seconds=seconds, minutes_max=minutes_max or allowed, log_gb=log_gb
    )
    older = [_read(path) for path in earlier]
    console = Console()
    with Bars(console) as bars:
        result = runner.run(sizes, chosen, results, bars, targets)
    _print(result, console)
    if write_docs is not None:
        _write_page(report.merged(result, older), write_docs)
    if any(section.failure is not None for section in result.sections):
        raise CommandError("some workloads were not measured, see above")


def _read(path: str) -> "report.Report":
    from penstock.cli.bench import report

    try:
        with open(path, "rb") as file:
            return report.from_json(file.read())
    except OSError as error:
        raise CommandError(f"--with {path}: {error.strerror}", EXIT_USAGE) from error
    except msgspec.MsgspecError as error:
        raise CommandError(f"--with {path} is no result of this benchmark: {error}", EXIT_USAGE) from error


def _print(result: "report.Report", console: "Console") -> None:
    from rich.table import Table

    from penstock.cli.bench import report

    table = Table(title="Ratios and goals (median of the rounds)")
    for head in ("", "what", "median", "lowest … highest", "goal"):
        table.add_column(head)
    for row in [*report.ratio_rows(result.sections), *report.figure_rows(result.sections)]:
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
    from penstock.cli.bench import plots, report

    directory = os.path.splitext(path)[0]
    drawn = plots.draw(result.sections, directory)
    pictures = {
        key: [os.path.join(os.path.basename(directory), name) for name in names]
        for key, names in drawn.items()
    }
    with open(path, "w", encoding="utf-8") as file:
        file.write(report.to_markdown(result, pictures))
