"""Redis with an append-only file that is synced before every answer (`appendfsync always`)."""

import shutil

from penstock_bench.peers.cluster import HOST, Product, Site, read_version
from penstock_bench.peers.tasks import Dialect
from penstock_bench.process import ServerProcess


class Redis(Product):
    dialect: Dialect = "redis"

    def missing(self) -> str | None:
        is_installed = shutil.which("redis-server") is not None
        return None if is_installed else "redis-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        return read_version("redis-server", "--version").partition("v=")[2].partition(" ")[0]

    def start_node(self, site: Site, number: int) -> ServerProcess:
        port = site.ports[number]
        command = ["redis-server", "--bind", HOST, "--port", str(port), "--dir", site.directory(number)]
        # No snapshots, and no rewriting of the file while something else is measured.
        command += ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        command += ["--auto-aof-rewrite-percentage", "0", "--daemonize", "no", "--loglevel", "warning"]
        return ServerProcess(command, site.new_log_path(number), port=port)
