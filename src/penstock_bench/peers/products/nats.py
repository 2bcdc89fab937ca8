"""NATS with JetStream, which syncs every message to disk before it acknowledges it (`sync_interval: always`), unless
another interval is set: as shipped it syncs every two minutes.

In a cluster each stream has three replicas and is a Raft group with a leader of its own.
"""

import asyncio
import os
import shutil
from collections.abc import Sequence
from typing import Final

from penstock_bench.peers.cluster import HOST, Product, Site, StreamState, read_version
from penstock_bench.peers.products import PEERS
from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.process import ServerFailed, ServerProcess

_ANSWER_WITHIN_S: Final = 5.0
_NAME: Final = "node-"
_CONFIG: Final = """listen: {listen}
max_payload: 8MB
jetstream {{
    store_dir: "{directory}"
    {sync}
    max_file_store: 50GB
}}
"""
_CLUSTER: Final = """server_name: {name}
cluster {{
    name: bench
    listen: {listen}
    routes: [{routes}]
}}
"""


class Nats(Product):
    dialect: Dialect = "nats"
    starts_together = True

    def __init__(self, name: str, nodes: int = 1, sync_interval: str = "always") -> None:
        super().__init__(name, nodes)
        self._sync = f"sync_interval: {sync_interval}" if sync_interval else ""

    def missing(self) -> str | None:
        # Debian's own package is of 2.9, which cannot sync each message.
        return None if _program() else "nats-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        return read_version(str(_program()), "--version").rpartition("v")[2]

    def start_node(self, site: Site, number: int) -> ServerProcess:
        data = os.path.join(site.directory(number), "data")
        config = _CONFIG.format(listen=site.address(number), directory=data, sync=self._sync)
        if len(site.numbers) > 1:
            routes = ", ".join(f"nats-route://{HOST}:{port}" for port in site.peer_ports.values())
            listen = f"{HOST}:{site.peer_ports[number]}"
            config += _CLUSTER.format(name=f"{_NAME}{number}", listen=listen, routes=routes)
        path = os.path.join(site.directory(number), "nats.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        return ServerProcess(
            [str(_program()), "-c", path], site.new_log_path(number), port=site.ports[number]
        )

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        return asyncio.run(_stream_states(site.address(living[0]), [place.stream for place in places]))


def _program() -> str | None:
    return shutil.which("nats-server", path=os.path.join(PEERS, "nats", "bin"))


async def _stream_states(address: str, streams: Sequence[str]) -> list[StreamState]:
    import nats
    from nats.errors import Error

    try:
        connection = await nats.connect(f"nats://{address}", allow_reconnect=False, connect_timeout=5)
        try:
            js = connection.jetstream(timeout=_ANSWER_WITHIN_S)
            infos = [(await js.stream_info(stream)).cluster for stream in streams]
        finally:
            await connection.close()
    except (Error, TimeoutError) as error:
        raise ServerFailed(str(error)) from error
    return [
        StreamState(
            int((info.leader or f"{_NAME}0").removeprefix(_NAME)),
            1 + sum(bool(replica.current and not replica.offline) for replica in info.replicas or ()),
        )
        for info in infos
    ]
