"""Apache Kafka from its jars, one KRaft node that is broker and controller, with the JVM options of its own scripts.

`tools/setup_peers.py` fetches the jars. The data directory is formatted before the clock starts, as its operator does.
"""

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

from penstock.cli.bench.peers.servers.places import PEERS
from penstock.cli.bench.peers.servers.running import NotStarted, Running, free_port
from penstock.cli.bench.peers.tasks import Dialect

_JARS: Final = "kafka"
_JVM: Final = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)  # fmt: skip
_CLUSTER_ID: Final = "cGVuc3RvY2stYmVuY2gtMQ"
_FORMAT_S_MAX: Final = 120
_LOGGING: Final = """rootLogger.level=error
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%p %c %m%n
"""


class KafkaServer:
    """`settings` are added to those of one node on loopback."""

    name: str
    dialect: Dialect = "kafka"

    def __init__(self, name: str = "Apache Kafka", settings: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._settings = settings or {}

    def missing(self) -> str | None:
        if shutil.which("java") is None:
            return "there is no `java`"
        return None if _jars() else "its jars are not there: run `python -m tools.setup_peers`"

    def version(self) -> str:
        found = [re.search(r"kafka_2\.13-([\d.]+)\.jar$", jar) for jar in _jars()]
        told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False, timeout=60)  # noqa: S607
        java = re.search(r'version "([^"]+)"', told.stderr)
        return f"{next((each[1] for each in found if each), '?')} on Java {java[1] if java else '?'}"

    def start(self, directory: str, log_path: str, port: int) -> Running:
        controller_port = free_port()
        settings = write_settings(directory, port, controller_port, self._settings)
        if not os.path.exists(os.path.join(directory, "data", "meta.properties")):
            _format(settings, log_path)
        return Running([*_java(directory), "kafka.Kafka", settings], port, log_path)


def _jars() -> list[str]:
    return glob.glob(os.path.join(PEERS, _JARS, "*.jar"))


def _java(directory: str) -> list[str]:
    logging = os.path.join(directory, "log4j2.properties")
    with open(logging, "w", encoding="utf-8") as file:
        file.write(_LOGGING)
    jars = os.path.join(PEERS, _JARS, "*")
    return ["java", *_JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", jars]


def write_settings(directory: str, port: int, controller_port: int, more: Mapping[str, str]) -> str:
    """Kafka's defaults but for what one node on loopback needs; the ports are new at every start."""
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": os.path.join(directory, "data"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **more,
    }
    path = os.path.join(directory, "server.properties")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in lines.items())
    return path


def _format(settings: str, log_path: str) -> None:
    command = [*_java(os.path.dirname(settings)), "kafka.tools.StorageTool", "format"]
    with open(log_path, "ab") as log:
        done = subprocess.run(  # noqa: S603 - a Java of this machine with arguments of our own making
            [*command, "--standalone", "-t", _CLUSTER_ID, "-c", settings],
            stdout=log, stderr=log, timeout=_FORMAT_S_MAX, check=False,
        )  # fmt: skip
    if done.returncode:
        raise NotStarted(f"its storage tool failed with {done.returncode}")
