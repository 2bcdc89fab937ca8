"""NATS JetStream as a cluster: streams with three replicas, each a Raft group with a leader of its own."""

import asyncio
from collections.abc import Sequence
from typing import Final

from penstock_bench.peers.clusters import HOST, Site, StreamState
from penstock_bench.peers.servers.nats import NatsServer
from penstock_bench.peers.servers.running import Helper, PeerProcess
from penstock_bench.peers.tasks import Where
from penstock_bench.process import ServerFailed

_NAME: Final = "node-"
_ANSWER_WITHIN_S: Final = 5.0
_CLUSTER: Final = """server_name: {name}
cluster {{
    name: bench
    listen: {listen}
    routes: [{routes}]
}}
"""


class NatsCluster(NatsServer):
    starts_together = True

    def prepare(self, site: Site) -> list[Helper]:  # noqa: ARG002 - nothing to prepare
        return []

    def start_node(self, site: Site, number: int) -> PeerProcess:
        routes = ", ".join(f"nats-route://{HOST}:{port}" for port in site.peer_ports.values())
        more = _CLUSTER.format(
            name=f"{_NAME}{number}", listen=f"{HOST}:{site.peer_ports[number]}", routes=routes
        )
        return self.start(site.directory(number), site.new_log_path(number), site.ports[number], more)

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        return asyncio.run(_stream_states(site.address(living[0]), [place.stream for place in places]))


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
