"""RabbitMQ with a name daemon (epmd) of its own, both on loopback.

This runs the server's own script: Debian's wrapper of it changes the user and uses the directories of the system.
"""

import glob
import os
import shutil
import subprocess
from typing import Final

from penstock_bench.peers.servers.running import Helper, PeerProcess, free_port
from penstock_bench.peers.tasks import Dialect

_SCRIPTS: Final = "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/"


class RabbitServer:
    name: str
    dialect: Dialect = "amqp"

    def __init__(self, name: str = "RabbitMQ") -> None:
        self.name = name

    def missing(self) -> str | None:
        is_installed = script("rabbitmq-server") is not None and shutil.which("epmd") is not None
        return None if is_installed else "rabbitmq-server is not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        found = script("rabbitmq-server")
        assert found is not None
        return found.split("rabbitmq_server-")[1].split("/")[0]

    def start(self, directory: str, log_path: str, port: int) -> PeerProcess:
        found = script("rabbitmq-server")
        assert found is not None
        epmd_port = free_port()
        made = environment(directory, port, epmd_port=epmd_port, peer_port=free_port())
        return PeerProcess([found], port, log_path, environment=made, helpers=[start_epmd(epmd_port)])


def script(name: str) -> str | None:
    """Return the script of the newest installed version."""
    return next(iter(sorted(glob.glob(_SCRIPTS + name), reverse=True)), None)


def start_epmd(port: int) -> Helper:
    """Start the name daemon (epmd), over which nodes find each other."""
    return subprocess.Popen(  # noqa: S603 - a program of this machine with arguments of our own making
        ["epmd", "-address", "127.0.0.1", "-port", str(port)],  # noqa: S607
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def environment(
    directory: str,
    port: int,
    *,
    epmd_port: int,
    peer_port: int,
    name: str = "bench@localhost",
    more: str = "",
) -> dict[str, str]:
    """Write the configuration of a node, with `more` added to it, and return its environment."""

    def inside(name: str) -> str:
        # The scripts may change their directory.
        return os.path.abspath(os.path.join(directory, name))

    with open(inside("rabbitmq.conf"), "w", encoding="utf-8") as file:
        file.write(f"listeners.tcp.1 = 127.0.0.1:{port}\nlog.console.level = error\nlog.file = false\n")
        # A disk or memory alarm would block publishers for reasons that are not theirs.
        file.write("disk_free_limit.absolute = 50MB\nvm_memory_high_watermark.relative = 0.6\n")
        file.write(more)
    with open(inside("enabled_plugins"), "w", encoding="utf-8") as file:
        file.write("[].\n")
    return {
        "HOME": inside(""),  # where Erlang keeps its cookie
        "RABBITMQ_NODENAME": name,
        "RABBITMQ_MNESIA_BASE": inside("mnesia"),
        "RABBITMQ_MNESIA_DIR": inside("data"),
        "RABBITMQ_LOG_BASE": inside("log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": inside("rabbitmq"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": inside("enabled_plugins"),
        "RABBITMQ_PID_FILE": inside("pid"),
        "RABBITMQ_DIST_PORT": str(peer_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
