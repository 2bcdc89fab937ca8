"""The commands of docs/moving-from-kafka.md on clusters run as they stand there, but for paths and addresses."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.cli.conftest import run_command
from tests.interop.kafka.mixed import MixedCluster
from tests.interop.kafka.test_joining import ONE_REPLICA
from tests.support.broker import BrokerProcess, free_port
from tests.support.kafka_node import CLUSTER_ID, KafkaNode
from tests.support.plugin import require_kafka

PAGE = Path(__file__).parents[3] / "docs" / "moving-from-kafka.md"


def translated(text: str, here: Mapping[str, str]) -> str:
    for written, used in here.items():
        text = text.replace(written, used)
    return text


def run(command: str) -> str:
    program, *arguments = re.sub(r"\s+#.*", "", command).split()
    assert program == "penstock"
    done = run_command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_commands_of_the_section_on_clusters_run_one_after_the_other(tmp_path: Path) -> None:
    """Kafka's node 2 is a broker and the controller, and its node 1 the broker that is replaced."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Clusters: replace brokers one by one\n")[2]
    section = section.partition("\n### 4. ")[0]
    (properties,) = re.findall(r"```properties\n(.*?)```", section, re.DOTALL)
    add, token, move, remove = re.findall(r"```\n(penstock .*?)\n```", section, re.DOTALL)
    cluster = MixedCluster(tmp_path, require_kafka(), 2, settings=ONE_REPLICA)
    replaced, controller = cluster.kafka[1], cluster.kafka[2]
    servers = f"localhost:{controller.controller_port}"
    made: list[BrokerProcess] = []
    try:
        start_kafka(controller, replaced, servers)
        for number in (11, 12):
            port, data = free_port(), tmp_path / f"penstock-{number}" / "data"
            config = tmp_path / f"penstock-{number}.properties"
            here = {
                "10.0.0.1:9093,10.0.0.2:9093,10.0.0.3:9093": servers,
                "10.0.0.11:9092": f"localhost:{port}",
                "/var/lib/penstock": str(data),
                "node.id=11": f"node.id={number}",
            }
            config.write_text(translated(properties, here))
            settings = {**ONE_REPLICA, "offsets.topic.num.partitions": "4"}
            made.append(
                BrokerProcess(tmp_path / f"penstock-{number}", config=config, port=port, host="localhost")
            )
            config.write_text(
                config.read_text() + "".join(f"{key}={value}\n" for key, value in settings.items())
            )
        up, status = add.splitlines()
        assert up == "penstock up --config penstock-11.properties"
        first, second = made
        first.start()
        here = {
            "10.0.0.11:9092": first.bootstrap,
            "/var/lib/penstock": str(tmp_path / "penstock-11" / "data"),
        }
        assert "11      Penstock" in run(translated(status, here))
        show, join = token.splitlines()
        (tmp_path / "token").write_text(run(translated(show.partition(" > ")[0], here)))
        assert join == "penstock up --config penstock-12.properties --token-file token"
        second.arguments += ["--token-file", str(tmp_path / "token")]
        second.start()
        cluster.penstock = {11: first, 12: second}
        cluster.create_topic("t", [[1, 11], [1, 12]])
        cluster.await_healthy()
        drain, status = translated(move, here).splitlines()
        run(drain)
        assert re.search(r"^1 +Kafka +broker .* running +0 +0 ", run(status), re.MULTILINE)
        replaced.terminate()
        run(translated(remove, here))
        cluster.await_state(lambda state: [each.id for each in state.brokers] == [2, 11, 12])
        cluster.await_state(lambda state: all(1 not in each.replicas for each in state.partitions))
    finally:
        for node in made:
            node.stop()
        cluster.close()


def start_kafka(controller: KafkaNode, broker: KafkaNode, servers: str) -> None:
    controller.write_config({"controller.quorum.bootstrap.servers": servers})
    controller.format()
    listener = f"PLAINTEXT://localhost:{broker.port}"
    broker.write_config(
        {
            "process.roles": "broker",
            "controller.quorum.bootstrap.servers": servers,
            "listeners": listener,
            "advertised.listeners": listener,
        }
    )
    broker.run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(broker.config_path))
    controller.start()
    broker.start()
