"""Apache Kafka from its jars: KRaft nodes that are broker and controller, with the JVM options of its own scripts.

`tools/setup_peers.py` downloads the jars. The data directory is formatted before the clock starts.
"""

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

import msgspec

from penstock_bench.peers.servers.places import PEERS
from penstock_bench.peers.servers.running import PeerProcess, free_port, read_version
from penstock_bench.peers.tasks import Dialect
from penstock_bench.process import ServerFailed

_JARS: Final = "kafka"
_JVM: Final = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)  # fmt: skip
_LONE: Final = 1  # the number of a node that has no others
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
            return "`java` is not installed"
        return None if _jars() else "its jars are not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        found = [re.search(r"kafka_2\.13-([\d.]+)\.jar$", jar) for jar in _jars()]
        java = re.search(r'version "([^"]+)"', read_version("java", "-version"))
        return f"{next((each[1] for each in found if each), '?')} on Java {java[1] if java else '?'}"

    def start(self, directory: str, log_path: str, port: int) -> PeerProcess:
        controller_ports = {_LONE: free_port()}  # new at every start
        node = KafkaNode(directory, _LONE, port, controller_ports, self._settings)
        if not os.path.exists(os.path.join(directory, "data", "meta.properties")):
            node.format_storage(log_path)
        return node.start(log_path)


def _jars() -> list[str]:
    return glob.glob(os.path.join(PEERS, _JARS, "*.jar"))


def _java(directory: str) -> list[str]:
    logging = os.path.join(directory, "log4j2.properties")
    with open(logging, "w", encoding="utf-8") as file:
        file.write(_LOGGING)
    jars = os.path.join(PEERS, _JARS, "*")
    return ["java", *_JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", jars]


class KafkaNode(msgspec.Struct, frozen=True):
    """One node; `controller_ports` has a port for every node of its cluster."""

    directory: str
    number: int
    port: int
    controller_ports: Mapping[int, int]
    settings: Mapping[str, str] = {}

    def start(self, log_path: str) -> PeerProcess:
        return PeerProcess(
            [*_java(self.directory), "kafka.Kafka", self._write_settings()], self.port, log_path
        )

    def format_storage(self, log_path: str) -> None:
        """Format the storage, as an operator does once for every node."""
        command = [*_java(self.directory), "kafka.tools.StorageTool", "format"]
        command += ["-t", _CLUSTER_ID, "-c", self._write_settings()]
        if len(self.controller_ports) == 1:
            command.append("--standalone")
        with open(log_path, "ab") as log:
            # A Java of this machine with arguments of our own making.
            done = subprocess.run(command, stdout=log, stderr=log, timeout=_FORMAT_S_MAX, check=False)  # noqa: S603
        if done.returncode:
            raise ServerFailed(f"its storage tool failed with {done.returncode}")

    def _write_settings(self) -> str:
        path = os.path.join(self.directory, "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in self.all_settings().items())
        return path

    def all_settings(self) -> dict[str, str]:
        """Return Kafka's defaults with the settings that nodes on loopback need."""
        count = len(self.controller_ports)
        replicas, in_sync = str(count), str(count // 2 + 1)
        controllers = {number: f"127.0.0.1:{port}" for number, port in self.controller_ports.items()}
        if count == 1:
            quorum = {"controller.quorum.bootstrap.servers": controllers[self.number]}
        else:
            voters = ",".join(f"{number}@{address}" for number, address in controllers.items())
            quorum = {"controller.quorum.voters": voters}
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.number),
            **quorum,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://{controllers[self.number]}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": os.path.join(self.directory, "data"),
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }
