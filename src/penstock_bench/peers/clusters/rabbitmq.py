"""RabbitMQ as a cluster: quorum queues with three replicas, each a Raft group with a leader of its own.

The nodes share one name daemon (epmd), which outlives a killed node. `rabbitmqctl` names the leader of a queue; AMQP
does not.
"""

import os
import subprocess
from collections.abc import Sequence
from typing import Final

import msgspec

from penstock_bench.peers.clusters import NODES, Site, StreamState
from penstock_bench.peers.servers.rabbitmq import RabbitServer, environment, script, start_epmd
from penstock_bench.peers.servers.running import Helper, PeerProcess, free_port
from penstock_bench.peers.tasks import Where
from penstock_bench.process import ServerFailed

_COOKIE: Final = "PENSTOCKBENCH"
_ANSWER_WITHIN_S: Final = 60
_LIST_QUEUES: Final = ("--silent", "--formatter", "json", "list_queues", "name", "leader", "online")


class QueueRow(msgspec.Struct, frozen=True):
    """A line of `rabbitmqctl list_queues`; a queue without a leader has an empty string there."""

    name: str
    leader: str = ""
    online: list[str] | str = ""


class RabbitCluster(RabbitServer):
    """The first node is started alone, the others find it by its name and join it."""

    starts_together = False

    def __init__(self) -> None:
        super().__init__("RabbitMQ, 3 nodes")
        self._epmd_port = 0

    def prepare(self, site: Site) -> list[Helper]:
        self._epmd_port = free_port()
        for number in NODES:
            path = os.path.join(site.directory(number), ".erlang.cookie")
            with open(path, "w", encoding="ascii") as file:
                file.write(_COOKIE)
            os.chmod(path, 0o400)
        return [start_epmd(self._epmd_port)]

    def start_node(self, site: Site, number: int) -> PeerProcess:
        started = script("rabbitmq-server")
        assert started is not None
        made = self._environment(site, number)
        return PeerProcess([started], site.ports[number], site.new_log_path(number), environment=made)

    def _environment(self, site: Site, number: int) -> dict[str, str]:
        # A node that lists others waits for them at its first start.
        listed = "".join(
            f"cluster_formation.classic_config.nodes.{each} = {_name(each)}\n" for each in {NODES[0], number}
        )
        more = f"cluster_formation.peer_discovery_backend = classic_config\n{listed}" if number > 1 else ""
        return environment(
            site.directory(number),
            site.ports[number],
            epmd_port=self._epmd_port,
            peer_port=site.peer_ports[number],
            name=_name(number),
            more=more,
        )

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        ctl = script("rabbitmqctl")
        assert ctl is not None
        node = living[0]
        command = [ctl, "-n", _name(node), *_LIST_QUEUES]
        try:
            done = subprocess.run(  # noqa: S603 - a program of this machine with arguments of our own making
                command,
                env={**os.environ, **self._environment(site, node)},
                capture_output=True,
                timeout=_ANSWER_WITHIN_S,
                check=True,
            )
        except subprocess.SubprocessError as error:
            raise ServerFailed(str(error)) from error
        return led_queues(done.stdout, [place.stream for place in places])


def _name(number: int) -> str:
    return f"bench-{number}@localhost"


def led_queues(listed: bytes, queues: Sequence[str]) -> list[StreamState]:
    """Decode the output of `rabbitmqctl list_queues` for these queues; one that it does not list has no leader."""
    rows = {row.name: row for row in msgspec.json.decode(listed, type=list[QueueRow])}
    numbers = {_name(number): number for number in NODES}
    found = []
    for queue in queues:
        row = rows.get(queue, QueueRow(queue))
        online = row.online if isinstance(row.online, list) else []
        found.append(StreamState(numbers.get(row.leader, 0), len(online)))
    return found
