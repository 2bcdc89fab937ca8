"""Penstock, by the interpreter it is measured with: as source, or compiled where `make compiled` was run."""

import sys
from collections.abc import Sequence

from penstock import __version__
from penstock.cli.bench import process
from penstock.cli.bench.peers.servers.running import Running
from penstock.cli.bench.peers.tasks import Dialect

_RUN = "from penstock.cli.main import main; main()"


class PenstockServer:
    name: str
    dialect: Dialect = "kafka"

    def __init__(self, name: str = "Penstock", python: str | None = sys.executable) -> None:
        self.name = name
        self._python = python

    def missing(self) -> str | None:
        return None if self._python is not None else "the compiled build is not there: run `make compiled`"

    def version(self) -> str:
        return __version__

    def start(self, directory: str, log_path: str, port: int, arguments: Sequence[str] = ()) -> Running:
        assert self._python is not None
        command = [self._python, "-c", _RUN, "up", "--listen", f"127.0.0.1:{port}", "--data", directory]
        return Running([*command, *arguments], port, log_path)


def compiled() -> PenstockServer:
    return PenstockServer("Penstock, compiled", process.builds().get(", compiled"))
