"""A live broker with short group timeouts."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.groups.group_client import unique_group
from tests.groups.services.consumer.members import SETTINGS, Consumer
from tests.server.live import Client, Live, TopicHandle, held, running_broker


@pytest.fixture(scope="module")
def live(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    directory = tmp_path_factory.mktemp("consumer-groups")
    with held(runner, running_broker(directory, SETTINGS)) as broker:
        yield broker


@pytest.fixture
def topic(runner: asyncio.Runner, client: Client) -> TopicHandle:
    return runner.run(client.create_topic(partitions=4))


@pytest.fixture
def consumer(runner: asyncio.Runner, client: Client, topic: TopicHandle) -> Consumer:
    return runner.run(Consumer(client, unique_group(), "m1", topic).find())
