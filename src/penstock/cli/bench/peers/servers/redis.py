"""Redis with an append-only file that is synced before every answer (`appendfsync always`)."""

import shutil
import subprocess

from penstock.cli.bench.peers.servers.running import Running
from penstock.cli.bench.peers.tasks import Dialect


class RedisServer:
    name = "Redis Streams"
    dialect: Dialect = "redis"

    def missing(self) -> str | None:
        return (
            None
            if shutil.which("redis-server")
            else "redis-server is not there: run `python -m tools.setup_peers`"
        )

    def version(self) -> str:
        told = subprocess.run(
            ["redis-server", "--version"],  # noqa: S607 - whichever is on the path
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        return told.stdout.partition("v=")[2].partition(" ")[0]

    def start(self, directory: str, log_path: str, port: int) -> Running:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", directory]
        # No snapshots, and no rewriting of the file while something else is measured.
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        command += ["--auto-aof-rewrite-percentage", "0", "--daemonize", "no", "--loglevel", "warning"]
        return Running(command, port, log_path)
