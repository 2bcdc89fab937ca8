"""The short scripts, as a newcomer runs them."""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import BrokerProcess

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 100
SETTINGS = {
    "log.retention.check.interval.ms": "500",
    "log.cleaner.backoff.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    running = BrokerProcess(tmp_path_factory.mktemp("basics"), settings=SETTINGS)
    running.start()
    yield running
    running.stop()


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"examples.basics.{name}", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pub_sub", r"offset 0: hello\noffset 1: how are you\?\noffset 2: goodbye"),
        ("replay", r"from the start: event 0 … event 9\n.*event 7, event 8, event 9\n.*offset 4, event 4"),
        ("partitions", r"anna: partition 0: order 0, order 1, order 2\nben: partition 2"),
        ("groups", r"\[0, 1, 2, 3\]\ntogether.*\n.*100 jobs.*\n.*has \[0, 1, 2, 3\] again"),
        (
            "share_group",
            r"has job 0, job 1, job 2\n.*job 3(.*\n)+job 4 failed and is delivered again: 2 times so far",
        ),
        ("eviction", r"it was evicted: the other member has both partitions"),
        ("retention", r"are gone; \d+ are left"),
        ("compaction", r"messages \d{1,2} are left; the last color is 49"),
        ("transactions", r"receipts: paid 10, paid 20, paid 30"),
    ],
)
def test_a_script_prints_the_expected_output(broker: BrokerProcess, name: str, expected: str) -> None:
    assert re.search(expected, run(name, "--bootstrap-server", broker.bootstrap))


def test_reconnect_survives_a_broker_that_is_killed(broker: BrokerProcess) -> None:
    command = [sys.executable, "-m", "examples.basics.reconnect", "-b", broker.bootstrap]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout is not None
        watchdog = threading.Timer(TIMEOUT_SECONDS, script.kill)
        watchdog.start()
        lines = []
        for line in script.stdout:
            lines.append(line)
            if line == "sent 40\n":
                broker.kill()
                broker.start()
        watchdog.cancel()
    assert lines[-1] == "read back 100: each once and in order: True\n"


def test_a_user_logs_in_with_a_password_and_one_with_a_wrong_one_does_not() -> None:
    expected = run("secure")
    assert "with the right password: delivered" in expected
    assert "with a wrong password:   _AUTHENTICATION" in expected


def test_a_consumer_reads_from_the_follower_in_its_rack() -> None:
    assert "broker 3 served it: True" in run("follower_reads")
