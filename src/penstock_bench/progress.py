"""Progress of a run on the terminal: a bar for the workloads, a bar for the rounds, and a line for each step."""

import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class ProgressBars:
    """Shows bars on a terminal, and only the lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._began = time.monotonic()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._console = console
        self._all = self._bars.add_task("workloads", total=None)
        self._one = self._bars.add_task("rounds", total=None)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def log(self, what: str) -> None:
        self._console.print(f"[dim]{time.monotonic() - self._began:6.1f} s[/dim]  {what}", highlight=False)

    def begin_workload(self, title: str, number: int, count: int) -> None:
        self.log(title)
        self._bars.update(self._all, total=count, completed=number - 1)
        self._bars.reset(self._one, total=None, description=title)

    def step(self, done: int, count: int) -> None:
        self._bars.update(self._one, completed=done, total=count)
