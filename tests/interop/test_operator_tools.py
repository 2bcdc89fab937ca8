"""Kafka's admin client as its command line tools use it: of controllers, and of a release's features."""

import subprocess
from pathlib import Path

import pytest

from tests.support.plugin import require_java_client, running_broker

PROGRAM = Path(__file__).parent / "java" / "OperatorClient.java"
FEATURES = (
    "eligible.leader.replicas.version=1 group.version=1 kraft.version=1 metadata.version=30 share.version=1 "
    "streams.version=1 transaction.version=2"
)


@pytest.mark.timeout(120)
def test_tools_reach_controllers_and_set_the_features_of_a_release(tmp_path: Path) -> None:
    class_path = require_java_client()
    with running_broker(tmp_path, {}) as broker:
        command = ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", class_path, str(PROGRAM)]
        done = subprocess.run(
            [*command, broker.bootstrap], capture_output=True, text=True, check=False, timeout=110
        )
    assert dict(line.split("\t", 1) for line in done.stdout.splitlines()) == {
        "quorum": "1 1",
        "controllers": "1",
        "before": FEATURES,
        "after": FEATURES,
    }, done.stderr[-3000:]
