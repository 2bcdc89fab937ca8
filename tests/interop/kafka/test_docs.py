"""The commands of docs/moving-from-kafka.md on directories run as they stand there, but for paths and addresses."""

import re
from pathlib import Path

from tests.support.broker import BrokerProcess
from tests.support.kafka_node import KafkaNode
from tests.support.plugin import require_kafka

PAGE = Path(__file__).parents[3] / "docs" / "moving-from-kafka.md"


def test_the_commands_of_the_section_on_directories_run_one_after_the_other(tmp_path: Path) -> None:
    kafka = KafkaNode(tmp_path, require_kafka())
    penstock = BrokerProcess(tmp_path, config=kafka.config_path, port=kafka.port, host="localhost")
    section = PAGE.read_text(encoding="utf-8").partition("\n## Directories\n")[2].partition("\n## ")[0]
    for written, here in (
        ("/var/lib/kafka/data", str(kafka.data_dir)),
        ("/etc/kafka/server.properties", str(kafka.config_path)),
        ("localhost:9092", kafka.bootstrap),
    ):
        section = section.replace(written, here)
    check, up, start, recover, upgrade = re.findall(r"^```sh\n(.*?)\n```", section, re.MULTILINE | re.DOTALL)
    kafka.format()
    kafka.start()
    kafka.terminate()
    try:
        assert "Penstock can start on this directory" in run(penstock, check)
        assert up == f"penstock up --config {kafka.config_path}"
        penstock.start()
        assert run(penstock, upgrade) == "the cluster has all features of its brokers\n"
        penstock.terminate()
        assert start == f"kafka-server-start.sh {kafka.config_path}"
        kafka.start()
        kafka.terminate()
        penstock.start()
        penstock.kill()
        assert "recovered" in run(penstock, recover)
        kafka.start()
    finally:
        penstock.stop()
        if kafka.is_running:
            kafka.kill()


def run(penstock: BrokerProcess, command: str) -> str:
    program, *arguments = command.split()
    assert program == "penstock"
    return penstock.run_command(*arguments)
