"""Penstock, by the interpreter that runs the benchmark."""

from collections.abc import Sequence

from penstock import __version__
from penstock_bench.peers.servers.running import PeerProcess
from penstock_bench.peers.tasks import Dialect
from penstock_bench.process import penstock_command


class PenstockServer:
    name: str
    dialect: Dialect = "kafka"

    def __init__(self, name: str = "Penstock") -> None:
        self.name = name

    def missing(self) -> str | None:
        return None

    def version(self) -> str:
        return __version__

    def start(self, directory: str, log_path: str, port: int, arguments: Sequence[str] = ()) -> PeerProcess:
        return PeerProcess(penstock_command(directory, port, arguments), port, log_path)
