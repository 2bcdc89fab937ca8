"""NATS JetStream as a cluster: streams with three replicas, each a Raft group with a leader of its own."""

import asyncio
from collections.abc import Sequence
from typing import Final

from penstock.cli.bench.peers.clusters import HOST, Led, Site
from penstock.cli.bench.peers.servers.nats import NatsServer
from penstock.cli.bench.peers.servers.running import Helper, NotStarted, Running
from penstock.cli.bench.peers.tasks import Where

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

    def start_node(self, site: Site, number: int) -> Running:
        routes = ", ".join(f"nats-route://{HOST}:{port}" for port in site.peer_ports.values())
        more = _CLUSTER.format(
            name=f"{_NAME}{number}", listen=f"{HOST}:{site.peer_ports[number]}", routes=routes
        )
        return self.start(site.directory(number), site.new_log_path(number), site.ports[number], more)

    def survey(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[Led]:
        return asyncio.run(_survey(site.address(living[0]), [place.stream for place in places]))


async def _survey(address: str, streams: Sequence[str]) -> list[Led]:
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
        raise NotStarted(str(error)) from error
    return [
        Led(
            int((info.leader or f"{_NAME}0").removeprefix(_NAME)),
            1 + sum(bool(replica.current and not replica.offline) for replica in info.replicas or ()),
        )
        for info in infos
    ]
