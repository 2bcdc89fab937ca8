"""RabbitMQ as a cluster: quorum queues with three replicas, each a Raft group with a leader of its own.

The nodes share one name daemon (epmd), which outlives a node that is killed. The protocol does not say who leads a
queue; `rabbitmqctl` does.
"""

import os
import subprocess
from collections.abc import Sequence
from typing import Final

import msgspec

from penstock.cli.bench.peers.clusters import NODES, Led, Site
from penstock.cli.bench.peers.servers.rabbitmq import RabbitServer, environment, script, start_names
from penstock.cli.bench.peers.servers.running import Helper, NotStarted, Running, free_port
from penstock.cli.bench.peers.tasks import Where

_COOKIE: Final = "PENSTOCKBENCH"
_ANSWER_WITHIN_S: Final = 60


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
        self._names_port = 0

    def prepare(self, site: Site) -> list[Helper]:
        self._names_port = free_port()
        for number in NODES:
            path = os.path.join(site.directory(number), ".erlang.cookie")
            with open(path, "w", encoding="ascii") as file:
                file.write(_COOKIE)
            os.chmod(path, 0o400)
        return [start_names(self._names_port)]

    def start_node(self, site: Site, number: int) -> Running:
        started = script("rabbitmq-server")
        assert started is not None
        made = self._environment(site, number)
        return Running([started], site.ports[number], site.new_log_path(number), environment=made)

    def _environment(self, site: Site, number: int) -> dict[str, str]:
        # A node that lists others waits for them at its first start.
        listed = "".join(
            f"cluster_formation.classic_config.nodes.{each} = {_name(each)}\n" for each in {NODES[0], number}
        )
        more = f"cluster_formation.peer_discovery_backend = classic_config\n{listed}" if number > 1 else ""
        return environment(
            site.directory(number),
            site.ports[number],
            names_port=self._names_port,
            peer_port=site.peer_ports[number],
            name=_name(number),
            more=more,
        )

    def survey(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[Led]:
        ctl = script("rabbitmqctl")
        assert ctl is not None
        node = living[0]
        command = [
            ctl,
            "-n",
            _name(node),
            "--silent",
            "--formatter",
            "json",
            "list_queues",
            "name",
            "leader",
            "online",
        ]
        try:
            done = subprocess.run(  # noqa: S603 - a program of this machine with arguments of our own making
                command,
                env={**os.environ, **self._environment(site, node)},
                capture_output=True,
                timeout=_ANSWER_WITHIN_S,
                check=True,
            )
        except subprocess.SubprocessError as error:
            raise NotStarted(str(error)) from error
        return led_queues(done.stdout, [place.stream for place in places])


def _name(number: int) -> str:
    return f"bench-{number}@localhost"


def led_queues(listed: bytes, queues: Sequence[str]) -> list[Led]:
    """What `rabbitmqctl list_queues` says of these queues; one that it does not name has no leader."""
    rows = {row.name: row for row in msgspec.json.decode(listed, type=list[QueueRow])}
    numbers = {_name(number): number for number in NODES}
    found = []
    for queue in queues:
        row = rows.get(queue, QueueRow(queue))
        online = row.online if isinstance(row.online, list) else []
        found.append(Led(numbers.get(row.leader, 0), len(online)))
    return found
