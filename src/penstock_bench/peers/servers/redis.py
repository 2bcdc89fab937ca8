"""Redis with an append-only file that is synced before every answer (`appendfsync always`)."""

import shutil

from penstock_bench.peers.servers.running import PeerProcess, read_version
from penstock_bench.peers.tasks import Dialect


class RedisServer:
    name = "Redis Streams"
    dialect: Dialect = "redis"

    def missing(self) -> str | None:
        is_installed = shutil.which("redis-server") is not None
        return None if is_installed else "redis-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        return read_version("redis-server", "--version").partition("v=")[2].partition(" ")[0]

    def start(self, directory: str, log_path: str, port: int) -> PeerProcess:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", directory]
        # No snapshots, and no rewriting of the file while something else is measured.
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        command += ["--auto-aof-rewrite-percentage", "0", "--daemonize", "no", "--loglevel", "warning"]
        return PeerProcess(command, port, log_path)
