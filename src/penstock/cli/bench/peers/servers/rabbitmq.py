"""RabbitMQ, one node with a name daemon (epmd) of its own, both on loopback.

The server's own script is run, not Debian's wrapper of it, which would change the user and take the system's
directories.
"""

import glob
import os
import shutil
import subprocess
from typing import Final

from penstock.cli.bench.peers.servers.running import Running, free_port
from penstock.cli.bench.peers.tasks import Dialect

_SCRIPTS: Final = "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server"


class RabbitServer:
    name = "RabbitMQ"
    dialect: Dialect = "amqp"

    def missing(self) -> str | None:
        is_there = _script() is not None and shutil.which("epmd") is not None
        return None if is_there else "rabbitmq-server is not there: run `python -m tools.setup_peers`"

    def version(self) -> str:
        script = _script()
        assert script is not None
        return script.split("rabbitmq_server-")[1].split("/")[0]

    def start(self, directory: str, log_path: str, port: int) -> Running:
        script = _script()
        assert script is not None
        name_port = free_port()
        environment = _environment(directory, port, name_port)
        names = subprocess.Popen(  # noqa: S603 - a program of this machine with arguments of our own making
            ["epmd", "-address", "127.0.0.1", "-port", str(name_port)],  # noqa: S607
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return Running([script], port, log_path, environment=environment, beside=[names])


def _script() -> str | None:
    return next(iter(sorted(glob.glob(_SCRIPTS), reverse=True)), None)


def _environment(directory: str, port: int, name_port: int) -> dict[str, str]:
    def inside(name: str) -> str:
        # The scripts may change their directory.
        return os.path.abspath(os.path.join(directory, name))

    with open(inside("rabbitmq.conf"), "w", encoding="utf-8") as file:
        file.write(f"listeners.tcp.1 = 127.0.0.1:{port}\nlog.console.level = error\nlog.file = false\n")
        # A disk or memory alarm would block publishers for reasons that are not theirs.
        file.write("disk_free_limit.absolute = 50MB\nvm_memory_high_watermark.relative = 0.6\n")
    with open(inside("enabled_plugins"), "w", encoding="utf-8") as file:
        file.write("[].\n")
    return {
        "HOME": inside(""),  # where Erlang keeps its cookie
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_MNESIA_BASE": inside("mnesia"),
        "RABBITMQ_MNESIA_DIR": inside("data"),
        "RABBITMQ_LOG_BASE": inside("log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": inside("rabbitmq"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": inside("enabled_plugins"),
        "RABBITMQ_PID_FILE": inside("pid"),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "ERL_EPMD_PORT": str(name_port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
