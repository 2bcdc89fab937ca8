"""The products that speak Kafka's protocol: Penstock, and Apache Kafka from its jars.

Kafka runs as KRaft nodes that are broker and controller, with the JVM options of its own scripts.
`tools/setup_peers.py` downloads the jars. The data directory is formatted before the clock starts.
"""

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

import confluent_kafka
from confluent_kafka.admin import AdminClient

from penstock import __version__
from penstock_bench.peers.cluster import HOST, Helper, Product, Site, StreamState, read_version
from penstock_bench.peers.products import PEERS
from penstock_bench.peers.tasks import Dialect, Where
from penstock_bench.process import ServerFailed, ServerProcess, penstock_command

_JARS: Final = "kafka"
_JVM: Final = (
    "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)  # fmt: skip
_ANSWER_WITHIN_S: Final = 10.0
_CLUSTER_ID: Final = "cGVuc3RvY2stYmVuY2gtMQ"
_FORMAT_S_MAX: Final = 120
_LOGGING: Final = """rootLogger.level=error
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%p %c %m%n
"""


class _KafkaProtocol(Product):
    """Kafka's protocol tells which node leads a partition."""

    dialect: Dialect = "kafka"

    def stream_states(self, site: Site, living: Sequence[int], places: Sequence[Where]) -> list[StreamState]:
        """Places are partitions of one topic; a partition that the metadata does not name yet has no leader."""
        bootstrap = ",".join(site.address(number) for number in living)
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        try:
            # A request for one topic would create it.
            topics = admin.list_topics(timeout=_ANSWER_WITHIN_S).topics
        except confluent_kafka.KafkaException as error:
            raise ServerFailed(str(error)) from error
        topic = topics.get(places[0].stream)
        partitions = topic.partitions if topic is not None else {}
        found = [partitions.get(place.only_partition) for place in places]
        return [
            StreamState(each.leader, len(each.isrs)) if each is not None else StreamState(0, 0)
            for each in found
        ]


class Penstock(_KafkaProtocol):
    """By the interpreter that runs the benchmark. The first node is started alone, the others join it."""

    def version(self) -> str:
        return __version__

    def start_node(self, site: Site, number: int) -> ServerProcess:
        arguments = ["--node-id", str(number)]
        directory = os.path.join(site.directory(number), "data")
        if number > 1 and not os.path.exists(directory):
            arguments += ["--join", site.address(1)]
        command = penstock_command(directory, site.ports[number], arguments)
        return ServerProcess(command, site.new_log_path(number), port=site.ports[number])


class Kafka(_KafkaProtocol):
    """`settings` are added to those of nodes on loopback."""

    starts_together = True

    def __init__(self, name: str, nodes: int = 1, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(name, nodes)
        self._settings = settings or {}

    def missing(self) -> str | None:
        if shutil.which("java") is None:
            return "`java` is not installed"
        return None if _jars() else "its jars are not installed: run `python -m tools.setup_peers`"

    def version(self) -> str:
        found = [re.search(r"kafka_2\.13-([\d.]+)\.jar$", jar) for jar in _jars()]
        java = re.search(r'version "([^"]+)"', read_version("java", "-version"))
        return f"{next((each[1] for each in found if each), '?')} on Java {java[1] if java else '?'}"

    def prepare(self, site: Site) -> list[Helper]:
        for number in site.numbers:
            if not os.path.exists(os.path.join(site.directory(number), "data", "meta.properties")):
                self._format(site, number)
        return []

    def _format(self, site: Site, number: int) -> None:
        """Format the storage, as an operator does once for every node."""
        directory = site.directory(number)
        command = [*_java(directory), "kafka.tools.StorageTool", "format"]
        command += ["-t", _CLUSTER_ID, "-c", self._write_settings(site, number)]
        if len(site.numbers) == 1:
            command.append("--standalone")
        with open(site.new_log_path(number), "ab") as log:
            # A Java of this machine with arguments of our own making.
            done = subprocess.run(command, stdout=log, stderr=log, timeout=_FORMAT_S_MAX, check=False)  # noqa: S603
        if done.returncode:
            raise ServerFailed(f"its storage tool failed with {done.returncode}")

    def start_node(self, site: Site, number: int) -> ServerProcess:
        settings = self._write_settings(site, number)
        command = [*_java(site.directory(number)), "kafka.Kafka", settings]
        return ServerProcess(command, site.new_log_path(number), port=site.ports[number])

    def _write_settings(self, site: Site, number: int) -> str:
        path = os.path.join(site.directory(number), "server.properties")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in self.node_settings(site, number).items())
        return path

    def node_settings(self, site: Site, number: int) -> dict[str, str]:
        """Return Kafka's defaults with the settings that nodes on loopback need."""
        count = len(site.numbers)
        replicas, in_sync = str(count), str(count // 2 + 1)
        controllers = {each: f"{HOST}:{port}" for each, port in site.peer_ports.items()}
        if count == 1:
            quorum = {"controller.quorum.bootstrap.servers": controllers[number]}
        else:
            voters = ",".join(f"{each}@{address}" for each, address in controllers.items())
            quorum = {"controller.quorum.voters": voters}
        return {
            "process.roles": "broker,controller",
            "node.id": str(number),
            **quorum,
            "listeners": f"PLAINTEXT://{site.address(number)},CONTROLLER://{controllers[number]}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": os.path.join(site.directory(number), "data"),
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
            "group.initial.rebalance.delay.ms": "0",
            **self._settings,
        }


def _jars() -> list[str]:
    return glob.glob(os.path.join(PEERS, _JARS, "*.jar"))


def _java(directory: str) -> list[str]:
    logging = os.path.join(directory, "log4j2.properties")
    with open(logging, "w", encoding="utf-8") as file:
        file.write(_LOGGING)
    jars = os.path.join(PEERS, _JARS, "*")
    return ["java", *_JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", jars]
