"""RabbitMQ with a name daemon (epmd) of its own, both on loopback.

This runs the server's own script: Debian's wrapper of it changes the user and uses the directories of the system.
The nodes of a cluster share one name daemon, which outlives a killed node; quorum queues have three replicas, each a
Raft group with a leader of its own. `rabbitmqctl` names the leader of a queue; AMQP does not.
"""

import glob
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Final

import msgspec

from penstock_bench.peers.cluster import Helper, Product, Site, StreamState
from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.process import ServerFailed, ServerProcess, free_port

_SCRIPTS: Final = "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/"
_COOKIE: Final = "PENSTOCKBENCH"
_ANSWER_WITHIN_S: Final = 60
_LIST_QUEUES: Final = ("--silent", "--formatter", "json", "list_queues", "name", "leader", "online")


class QueueRow(msgspec.Struct, frozen=True):
    """A line of `rabbitmqctl list_queues`; a queue without a leader has an empty string there."""

    name: str
    leader: str = ""
    online: list[str] | str = ""


class Rabbit(Product):
    """The first node is started alone, the others find it by its name and join it."""

    dialect: Dialect = "amqp"

    def missing(self) -> str | None:
        is_installed = _script("rabbitmq-server") is not None and shutil.which("epmd") is not None
        return None if is_installed else "rabbitmq-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        return str(_script("rabbitmq-server")).split("rabbitmq_server-")[1].split("/")[0]

    def prepare(self, site: Site) -> list[Helper]:
        self._epmd_port = free_port()
        for number in site.numbers:
            path = os.path.join(site.directory(number), ".erlang.cookie")
            if not os.path.exists(path):
                with open(path, "w", encoding="ascii") as file:
                    file.write(_COOKIE)
                os.chmod(path, 0o400)
        epmd = subprocess.Popen(  # noqa: S603 - a program of this machine with arguments of our own making
            ["epmd", "-address", "127.0.0.1", "-port", str(self._epmd_port)],  # noqa: S607
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return [epmd]

    def start_node(self, site: Site, number: int) -> ServerProcess:
        return ServerProcess(
            [str(_script("rabbitmq-server"))],
            site.new_log_path(number),
            self._environment(site, number),
            port=site.ports[number],
        )

    def _environment(self, site: Site, number: int) -> dict[str, str]:
        """Write the configuration of a node, and return its environment."""

        def inside(name: str) -> str:
            # The scripts may change their directory.
            return os.path.abspath(os.path.join(site.directory(number), name))

        with open(inside("rabbitmq.conf"), "w", encoding="utf-8") as file:
            file.write(
                f"listeners.tcp.1 = {site.address(number)}\nlog.console.level = error\nlog.file = false\n"
            )
            # A disk or memory alarm would block publishers for reasons that are not theirs.
            file.write("disk_free_limit.absolute = 50MB\nvm_memory_high_watermark.relative = 0.6\n")
            if number > 1:  # a node that lists others waits for them at its first start
                file.write("cluster_formation.peer_discovery_backend = classic_config\n")
                nodes = "cluster_formation.classic_config.nodes"
                file.writelines(f"{nodes}.{each} = {_name(each)}\n" for each in (1, number))
        with open(inside("enabled_plugins"), "w", encoding="utf-8") as file:
            file.write("[].\n")
        return {
            "HOME": inside(""),  # where Erlang keeps its cookie
            "RABBITMQ_NODENAME": _name(number),
            "RABBITMQ_MNESIA_BASE": inside("mnesia"),
            "RABBITMQ_MNESIA_DIR": inside("data"),
            "RABBITMQ_LOG_BASE": inside("log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": inside("rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": inside("enabled_plugins"),
            "RABBITMQ_PID_FILE": inside("pid"),
            "RABBITMQ_DIST_PORT": str(site.peer_ports[number]),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        node = living[0]
        try:
            done = subprocess.run(  # noqa: S603 - a program of this machine with arguments of our own making
                [str(_script("rabbitmqctl")), "-n", _name(node), *_LIST_QUEUES],
                env={**os.environ, **self._environment(site, node)},
                capture_output=True,
                timeout=_ANSWER_WITHIN_S,
                check=True,
            )
        except subprocess.SubprocessError as error:
            raise ServerFailed(str(error)) from error
        return led_queues(done.stdout, [place.stream for place in places])


def _script(name: str) -> str | None:
    """Return the script of the newest installed version."""
    return next(iter(sorted(glob.glob(_SCRIPTS + name), reverse=True)), None)


def _name(number: int) -> str:
    return f"bench-{number}@localhost"


def led_queues(listed: bytes, queues: Sequence[str]) -> list[StreamState]:
    """Decode the output of `rabbitmqctl list_queues` for these queues; one that it does not list has no leader."""
    rows = {row.name: row for row in msgspec.json.decode(listed, type=list[QueueRow])}
    found = []
    for queue in queues:
        row = rows.get(queue, QueueRow(queue))
        leader = row.leader.removeprefix("bench-").partition("@")[0]
        online = row.online if isinstance(row.online, list) else []
        found.append(StreamState(int(leader or 0), len(online)))
    return found
