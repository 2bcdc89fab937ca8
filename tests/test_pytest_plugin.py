"""The plugin in a foreign test suite: pytest in a process of its own, without this repository's configuration."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.pytest_plugin import topic_name

# As the entry point does, whether or not this checkout was installed with it.
PLUGIN = ("-p", "no:penstock", "-p", "penstock.pytest_plugin", "-p", "no:cacheprovider", "--strict-markers")


def run(directory: Path, suite: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    (directory / "test_suite.py").write_text(suite)
    (directory / "pytest.ini").write_text("[pytest]\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, *arguments, "-q", str(directory)],
        check=False,
        cwd=directory,
        env={**os.environ, "PYTEST_ADDOPTS": "", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_fixtures_need_no_configuration(tmp_path: Path) -> None:
    suite = """
import asyncio, sys, unittest
import pytest

addresses = set()
topics = set()


def test_nothing_of_the_broker_is_imported_before_it_is_used():
    assert "penstock.embedded" not in sys.modules
    assert "penstock.server" not in sys.modules


@pytest.mark.parametrize("number", [1, 2])
def test_every_test_has_a_topic_of_its_own_on_one_broker(penstock, penstock_topic, number, capsys):
    addresses.add(penstock.bootstrap_servers)
    topics.add(penstock_topic)
    penstock_topic.produce(b"one")
    penstock_topic.assert_values([b"one"])
    assert penstock_topic.partitions == 1
    assert f"test_every_test_has_a_topic_of_its_own_on_one_broker-{number}" in penstock_topic
    assert capsys.readouterr() == ("", "")


def test_what_the_tests_before_had(penstock):
    assert addresses == {penstock.bootstrap_servers}
    assert len(topics) == 2
    assert all(penstock.topic(each).partitions == 0 for each in topics)


@pytest.mark.penstock_topic(partitions=3, config={"max.message.bytes": 100})
def test_a_marker_says_how_the_topic_is_made(penstock_topic):
    assert penstock_topic.partitions == 3
    with pytest.raises(Exception, match="MESSAGE_TOO_LARGE"):
        penstock_topic.produce(bytes(1000))


def test_a_cluster_is_there_to_be_broken(penstock_cluster):
    assert len(penstock_cluster.bootstrap_servers.split(",")) == 3
    topic = penstock_cluster.create_topic("orders")
    topic.produce(b"one")
    penstock_cluster.kill(next(node for node in (1, 2, 3) if node != penstock_cluster.leader("orders")))
    topic.assert_values([b"one"])


def test_an_application_on_the_loop_of_a_test(penstock_topic):
    async def use():
        penstock_topic.produce(b"one")
        return await penstock_topic.await_records()

    assert asyncio.run(use())[0].value == b"one"


def test_the_broker_was_loaded_as_it_is_and_not_rewritten_by_pytest():
    import penstock.embedded, penstock.storage.log.log

    for module in (penstock.embedded, penstock.storage.log):
        assert type(module.__loader__).__name__ != "AssertionRewritingHook"


class UnittestTests(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def topic(self, penstock_topic):
        self.topic = penstock_topic

    def test_orders(self):
        self.topic.produce(b"one")
        self.topic.assert_values([b"one"])
"""
    assert "9 passed" in run(tmp_path, suite)


def test_every_xdist_worker_has_its_own_broker_with_the_settings_of_the_suite(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        """
import pytest

@pytest.fixture(scope="session")
def penstock_config():
    return {"num.partitions": 2}
"""
    )
    suite = """
import pathlib, time
import pytest

def meet(here, there):
    pathlib.Path(__file__).with_name(here).touch()
    while not pathlib.Path(__file__).with_name(there).exists():
        time.sleep(0.01)

@pytest.mark.parametrize(("here", "there"), [("one", "other"), ("other", "one")])
def test_a_worker(penstock, here, there):
    assert penstock.create_topic("orders").partitions == 2
    penstock.topic("orders").produce(here.encode())
    meet(here, there)  # both are at work at the same time
    penstock.topic("orders").assert_values([here.encode()])
    meet(here + " is done", there + " is done")
"""
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # two workers load what else is installed in seconds
    assert "2 passed" in run(tmp_path, suite, "-p", "xdist", "-n", "2", environment=alone)


@pytest.mark.parametrize(
    ("test", "topic"),
    [
        ("test_orders", "test_orders-7"),
        ("test_orders[eu/west-β]", "test_orders-eu-west-7"),
        ("t" * 300, "t" * 200 + "-7"),
    ],
)
def test_the_name_of_a_topic_is_valid_in_kafka(test: str, topic: str) -> None:
    assert topic_name(test, 7) == topic
    assert re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", topic)
