"""Kafka's own Java client, newest version: one run of a small application, step by step."""

import subprocess
from pathlib import Path

import pytest

from tests.support.plugin import require_java_client, running_broker

PROGRAM = Path(__file__).parent / "java" / "ReferenceClient.java"

EXPECTED = {
    "create": "2",
    "create again": "TopicExistsException",
    "produce none": "49",
    "produce gzip": "99",
    "produce snappy": "149",
    "produce lz4": "199",
    "produce zstd": "249",
    "produce too much": "RecordTooLargeException",
    "read": "500 null null 1000 2 {0=250, 1=25}",
    "read as a classic group": "500 250",
    "read as a consumer group": "500 250",
    "describe the group": "Empty Classic",
    "transactions": "[committed, last] 7",
    "fence": "InvalidProducerEpochException",
    "newest timestamp": "1099",
    "configure": "delete,compact 604800000",
    "grow": "3",
    "delete records": "10",
    "delete": "UnknownTopicOrPartitionException",
}


@pytest.mark.timeout(120)
def test_the_reference_client_gets_the_same_results_as_with_kafka(tmp_path: Path) -> None:
    class_path = require_java_client()
    with running_broker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path, str(PROGRAM)]
        done = subprocess.run(
            [*command, broker.bootstrap], capture_output=True, text=True, check=False, timeout=110
        )
    found = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert found == EXPECTED, done.stderr[-3000:]
