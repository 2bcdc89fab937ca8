"""`penstock bench`: measures this broker on this machine, as ratios to what the machine can do at all.

An ordinary client and some processes: it uses no part of the broker but the protocol's codec. `runner.py` runs the
modules of `workloads/`, each of which starts its own brokers, interleaves what it compares, and gives a `Section` of
figures; `report.py` tells them.
"""

import time

import typer

from penstock.cli.errors import EXIT_USAGE, CommandError

_ALL = "abcdefghijk"


def bench(
    *,
    quick: bool = typer.Option(
        False, "--quick", help="Small sizes: about a minute, for a look and not for a figure."
    ),
    only: str = typer.Option(_ALL, metavar="LETTERS", help="Which workloads, by letter, like `bc`."),
    log_gb: float | None = typer.Option(
        None,
        "--log-gb",
        min=0.01,
        envvar="BENCH_LOG_GB",
        help="Size of the log that recovery is measured with.",
    ),
    results: str = typer.Option(
        "bench-results",
        metavar="DIR",
        help="Where results are written; brokers keep their data there meanwhile.",
    ),
    write_docs: str | None = typer.Option(
        None, "--write-docs", metavar="FILE", help="Write the page with all figures there."
    ),
) -> None:
    """Measure the broker against what this machine can do at all, and print the ratios.

    Starts brokers of its own on loopback, on free ports, and removes what they wrote.
    """
    from rich.console import Console
    from rich.table import Table

    from penstock.cli.bench import machine, report, runner, scale

    refusal = machine.check_platform()
    if refusal is not None:
        raise CommandError(f"the benchmark cannot run here: {refusal}")
    if not only or set(only) - set(_ALL):
        raise CommandError(f"--only {only} names no workload: give letters of {_ALL}", EXIT_USAGE)
    sizes = scale.quick if quick else scale.full
    console = Console()
    began = time.monotonic()

    def tell(what: str) -> None:
        console.print(f"[dim]{time.monotonic() - began:6.1f} s[/dim]  {what}", highlight=False)

    chosen = sizes() if log_gb is None else sizes(log_gb)
    result = runner.run(chosen, only, results, tell)
    table = Table(title="Ratios and goals (median of the rounds)")
    for head in ("", "what", "median", "lowest … highest", "goal"):
        table.add_column(head)
    for row in [*report.ratio_rows(result.sections), *report.figure_rows(result.sections)]:
        table.add_row(*row)
    console.print(table)
    for section in result.sections:
        if section.failure is not None:
            console.print(f"({section.key}) was not measured: {section.failure}", markup=False)
    if write_docs is not None:
        with open(write_docs, "w", encoding="utf-8") as file:
            file.write(report.to_markdown(result))
    if any(section.failure is not None for section in result.sections):
        raise CommandError("some workloads were not measured, see above")
