"""The clients under test, started when the first test asks for one."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.clients.aio_kafka import AioKafkaAdmin, AioKafkaClient
from tests.interop.clients.confluent import ConfluentAdmin, ConfluentClient
from tests.interop.clients.javascript import JavaScriptAdmin, JavaScriptClient, NodeProcess
from tests.interop.clients.kafka_python import KafkaPythonAdmin, KafkaPythonClient
from tests.interop.clients.kcat import KcatAdmin, KcatClient
from tests.interop.group_stage import SETTINGS, Stage
from tests.interop.model import MESSAGE_BYTES_MAX, Admin, Client
from tests.support.broker import BrokerProcess
from tests.support.plugin import require_tool, running_broker
from tools.setup_interop import NODE


class Clients:
    """Every client by name, connected to one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._clients: dict[str, Client] = {}
        self._nodes: dict[str, NodeProcess] = {}
        self.setup_admin = ConfluentAdmin(bootstrap)  # for what a test needs before its subject comes in

    def __getitem__(self, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = self._make(name)
        return self._clients[name]

    def _make(self, name: str) -> Client:
        if name == "confluent-kafka":
            return ConfluentClient(self.bootstrap)
        if name == "kafka-python":
            return KafkaPythonClient(self.bootstrap)
        if name == "aiokafka":
            return AioKafkaClient(self.bootstrap)
        if name == "kcat":
            return self.kcat()
        return JavaScriptClient(name, self._node(name))

    def kcat(self) -> KcatClient:
        return KcatClient(self.bootstrap, require_tool("kcat"))

    def kcat_admin(self) -> KcatAdmin:
        return KcatAdmin(self.kcat())

    def admin(self, name: str) -> Admin:
        if name == "confluent-kafka":
            return ConfluentAdmin(self.bootstrap)
        if name == "kafka-python":
            return KafkaPythonAdmin(self.bootstrap)
        if name == "aiokafka":
            return AioKafkaAdmin(self.bootstrap)
        return JavaScriptAdmin(self._node(name))

    def _node(self, name: str) -> NodeProcess:
        if name not in self._nodes:
            self._nodes[name] = NodeProcess(str(NODE), f"{name}.js", self.bootstrap)
        return self._nodes[name]

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        for node in self._nodes.values():
            node.close()


@pytest.fixture(scope="session")
def clients(shared_broker: BrokerProcess) -> Iterator[Clients]:
    made = Clients(shared_broker.bootstrap)
    yield made
    made.close()


_numbers = itertools.count()


@pytest.fixture
def new_topic(clients: Clients, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Make a topic that is named after the test; keywords are its configuration with _ for a dot."""

    def make(partitions: int = 1, **config: str) -> str:
        words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).removeprefix("test-")
        topic = f"{words[:150]}-{next(_numbers)}"
        settings = {"max.message.bytes": str(MESSAGE_BYTES_MAX)}
        settings |= {name.replace("_", "."): value for name, value in config.items()}
        clients.setup_admin.create_topic(topic, partitions, settings)
        return topic

    return make


@pytest.fixture(scope="session")
def group_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker that misses members soon."""
    with running_broker(tmp_path_factory.mktemp("groups"), SETTINGS) as broker:
        yield broker


@pytest.fixture
def stage(group_broker: BrokerProcess) -> Iterator[Stage]:
    made = Stage(group_broker)
    yield made
    made.members.end()


@pytest.fixture
def own_stage(tmp_path: Path) -> Iterator[Stage]:
    """For tests that restart their broker."""
    with running_broker(tmp_path, SETTINGS) as broker:
        made = Stage(broker)
        yield made
        made.members.end()
