"""NATS with JetStream, which syncs every message to disk before it acknowledges it (`sync_interval: always`), unless
another interval is set: as shipped it syncs every two minutes.
"""

import os
import shutil
from typing import Final

from penstock_bench.peers.servers.places import PEERS
from penstock_bench.peers.servers.running import PeerProcess, read_version
from penstock_bench.peers.tasks import Dialect

_CONFIG: Final = """listen: 127.0.0.1:{port}
max_payload: 8MB
jetstream {{
    store_dir: "{directory}"
    {sync}
    max_file_store: 50GB
}}
{more}"""


class NatsServer:
    name: str
    dialect: Dialect = "nats"

    def __init__(self, name: str = "NATS JetStream", sync_interval: str = "always") -> None:
        self.name = name
        self._sync = f"sync_interval: {sync_interval}" if sync_interval else ""

    def missing(self) -> str | None:
        # Debian's own package is of 2.9, which cannot sync each message.
        return None if _program() else "nats-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        program = _program()
        assert program is not None
        return read_version(program, "--version").rpartition("v")[2]

    def start(self, directory: str, log_path: str, port: int, more: str = "") -> PeerProcess:
        """`more` is added to the configuration."""
        program = _program()
        assert program is not None
        config = os.path.join(directory, "nats.conf")
        with open(config, "w", encoding="utf-8") as file:
            data = os.path.join(directory, "data")
            file.write(_CONFIG.format(port=port, directory=data, sync=self._sync, more=more))
        return PeerProcess([program, "-c", config], port, log_path)


def _program() -> str | None:
    return shutil.which("nats-server", path=os.path.join(PEERS, "nats", "bin"))
