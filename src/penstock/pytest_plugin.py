"""Fixtures for pytest: a real broker in the test's own process. Installing Penstock is all it takes to have them.

    penstock           one broker for the session; with pytest-xdist, one for each worker
    penstock_topic     a new topic for each test, named after it
    penstock_cluster   three brokers for one test, to be killed, cut off and slowed down

`penstock_config` may be overridden in a conftest.py, for settings under Kafka's names. Nothing of the broker is
imported before a fixture is used: pytest loads this module in every suite of everybody who has Penstock installed.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.embedded import Broker, Cluster, Topic

_NAME_LENGTH_MAX = 200  # Kafka takes 249

_OUR_PACKAGES = ("penstock", "pyspark_penstock", "pyspark_penstock_lake")

_numbers = itertools.count(1)


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Keep pytest from rewriting the asserts of the whole broker: it does that to all that a plugin comes with.

    It would read and compile some 400 modules anew, seconds where they are not cached. There is no other way to tell
    pytest but a mark in each of them. This hook is the first that is called, before any conftest.py is imported.
    """
    names = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(names, set):
        names.difference_update(_OUR_PACKAGES)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "penstock_topic(partitions=1, config={}): how the topic of the fixture penstock_topic is made",
    )


@pytest.fixture(scope="session")
def penstock_config() -> Mapping[str, str | int | float | bool]:
    """Settings of the brokers, under Kafka's names. Override it to have others."""
    return {}


@pytest.fixture(scope="session")
def penstock(penstock_config: Mapping[str, str | int | float | bool]) -> "Iterator[Broker]":
    """A broker in memory that lives as long as the session."""
    from penstock.embedded import Broker  # noqa: PLC0415 - see the module's docstring

    with Broker(config=penstock_config) as broker:
        yield broker


@pytest.fixture
def penstock_topic(request: pytest.FixtureRequest, penstock: "Broker") -> "Iterator[Topic]":
    """A new topic: a `str`, its name, with methods to write, read, await and check records. Deleted after the test."""
    marker = request.node.get_closest_marker("penstock_topic")
    options = {"partitions": 1, **(marker.kwargs if marker else {})}
    topic = penstock.create_topic(topic_name(request.node.name, next(_numbers)), **options)
    yield topic
    penstock.delete_topic(topic)


@pytest.fixture
def penstock_cluster(penstock_config: Mapping[str, str | int | float | bool]) -> "Iterator[Cluster]":
    """Three brokers in memory, with faults to inject."""
    from penstock.embedded import Cluster  # noqa: PLC0415 - see the module's docstring

    with Cluster(3, config=penstock_config) as cluster:
        yield cluster


def topic_name(test_name: str, number: int) -> str:
    """A name that Kafka takes, that says whose topic it is, and that no other test of the session has."""
    readable = re.sub(r"[^a-zA-Z0-9._-]+", "-", test_name)[:_NAME_LENGTH_MAX].strip("-")
    return f"{readable}-{number}"
