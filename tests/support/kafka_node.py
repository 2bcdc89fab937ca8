"""A node of Apache Kafka for tests: formatted, started, stopped and killed by its own process id.

The jars come from `tools/setup_peers.py` (the newest release) and `tools/setup_kafka.py` (older ones).
"""

import contextlib
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.broker import BrokerFailed, free_port

CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qk"
_START_TIMEOUT_S: Final = 90.0
_STOP_TIMEOUT_S: Final = 60.0
_TOOL_TIMEOUT_S: Final = 120.0
_POLL_INTERVAL_S: Final = 0.05
_JVM: Final = (
    "-Xmx384M",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)
_LOGGING: Final = """rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss.SSS} %p %c{1} %m%n
"""


class KafkaNode:
    """A combined node (broker and controller) on a data directory that it may share with Penstock, one at a time."""

    def __init__(
        self,
        directory: Path,
        jars: Path,
        *,
        settings: Mapping[str, str] | None = None,
        has_static_voters: bool = False,
        data_dir: Path | None = None,
    ) -> None:
        """With `has_static_voters` the quorum is `controller.quorum.voters` (kraft.version 0), else it is KIP-853's."""
        directory.mkdir(parents=True, exist_ok=True)
        self.data_dir = data_dir or directory / "data"
        self.config_path = directory / "server.properties"
        self.log_path = directory / "kafka.log"
        self.port, self.controller_port = free_port(), free_port()
        self._directory = directory
        self._jars = jars
        self._has_static_voters = has_static_voters
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = {**self._defaults(), **(settings or {})}
        self.write_config()

    def _defaults(self) -> dict[str, str]:
        controller = f"localhost:{self.controller_port}"
        quorum = (
            {"controller.quorum.voters": f"1@{controller}"}
            if self._has_static_voters
            else {"controller.quorum.bootstrap.servers": controller}
        )
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            **quorum,
            "listeners": f"PLAINTEXT://localhost:{self.port},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://localhost:{self.port},CONTROLLER://{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.data_dir),
            "num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
            "log.cleaner.dedupe.buffer.size": "8388608",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found": "true",
            "super.users": "User:ANONYMOUS",
        }

    def write_config(self, settings: Mapping[str, str] | None = None) -> None:
        self._settings.update(settings or {})
        lines = [f"{name}={value}\n" for name, value in self._settings.items()]
        self.config_path.write_text("".join(lines))

    @property
    def bootstrap(self) -> str:
        return f"localhost:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log_tail(self, characters_max: int = 6000) -> str:
        return self.log_path.read_text(errors="replace")[-characters_max:] if self.log_path.exists() else ""

    def format(self, *options: str) -> None:
        quorum = [] if self._has_static_voters else ["--standalone"]
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(self.config_path), *quorum, *options]
        self.run_tool("kafka.tools.StorageTool", *arguments)

    def start(self) -> "KafkaNode":
        """Start and wait until the broker is registered, unfenced and serving."""
        assert not self.is_running, "the node runs already"
        with self.log_path.open("ab") as log:
            began = log.tell()
            self._process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self.config_path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _START_TIMEOUT_S
        while b"Kafka Server started" not in self.log_path.read_bytes()[began:]:
            if self._process.poll() is not None:
                raise BrokerFailed(f"Kafka ended with {self._process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise BrokerFailed(f"Kafka not ready after {_START_TIMEOUT_S} s:\n{self.log_tail()}")
            time.sleep(_POLL_INTERVAL_S)
        return self

    def terminate(self) -> None:
        """Stop with SIGTERM: a controlled shutdown."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End with SIGKILL: a crash."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None, "the node was not started"
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(how)
        try:
            self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise BrokerFailed(f"Kafka did not stop within {_STOP_TIMEOUT_S} s:\n{self.log_tail()}") from None

    def run_tool(self, main_class: str, *arguments: str) -> str:
        """Run one of Kafka's own tools; returns its output. Raises `BrokerFailed` when it fails."""
        done = subprocess.run(
            [*self._java(), main_class, *arguments],
            capture_output=True,
            text=True,
            timeout=_TOOL_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise BrokerFailed(
                f"{main_class} {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def _java(self) -> list[str]:
        logging = self._directory / "log4j2.properties"
        if not logging.exists():
            logging.write_text(_LOGGING)
        return ["java", *_JVM, f"-Dlog4j2.configurationFile={logging}", "-cp", f"{self._jars}/*"]
