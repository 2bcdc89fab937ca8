"""Offset commits for many partitions at once, with metadata: some take several batches.

Some commits are larger than the offsets topic takes: they are rejected, and must not be found.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import Any

from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.clients.client import (
    GROUP,
    Client,
    CoordinatorClient,
    NoAnswer,
)
from penstock_simulation.cluster.clients.requests import alter_configs, by_topic, fetch_offsets
from penstock_simulation.cluster.values import PartitionName

_COMMIT = (8, 8)
OFFSETS_TOPIC = "__consumer_offsets"
BATCH_BYTES_MAX = 2000
_OVERSIZED_CHANCE = 0.1
_OVERSIZED = (2000, 4000)
"""Too large for a batch, and less than `offset.metadata.max.bytes`."""
_METADATA_TOO_LARGE = 5000
_TOO_LARGE_CHANCE = 0.1
_CHECK_CHANCE = 0.6


async def limit_batches(client: Client, group: str) -> bool:
    """Let the offsets topic take small batches only; return whether. Raises `NoAnswer`."""
    await client.coordinator_of(group, GROUP)  # creates the topic
    settings = {"max.message.bytes": str(BATCH_BYTES_MAX)}
    return await alter_configs(client, ResourceType.TOPIC, OFFSETS_TOPIC, settings) is ErrorCode.NONE


def commit_topics(random: Random, partitions: Sequence[PartitionName], offset: int) -> list[dict[str, Any]]:
    """Build the topics of a commit. The metadata of all exceeds a batch; sometimes a single partition's does."""
    sizes = {each: random.randint(0, 900) for each in partitions}
    if random.random() < _OVERSIZED_CHANCE:
        sizes[random.choice(partitions)] = random.randint(*_OVERSIZED)
    return [
        {
            "name": topic,
            "partitions": [
                {
                    "partition_index": each,
                    "committed_offset": offset,
                    "committed_metadata": "m" * sizes[topic, each],
                }
                for each in numbers
            ],
        }
        for topic, numbers in by_topic(partitions)
    ]


class GroupOffsets(ABC):
    """The offsets of one group, for several partitions alike."""

    def __init__(self, client: Client, group: str, partitions: Sequence[PartitionName]) -> None:
        self._client = client
        self.group = group
        self._partitions = partitions
        self._coordinator = CoordinatorClient(client, group)

    async def check(self) -> None:
        """Have the committed offsets checked. Raises `NoAnswer`."""
        try:
            address = await self._coordinator.address()
            asked_s = self._client.now_s
            found = await fetch_offsets(self._client, address, self.group, self._partitions)
        except NoAnswer:
            self._coordinator.forget()
            raise
        self._on_fetched(found, asked_s, address[0])

    @abstractmethod
    def _on_fetched(self, found: dict[PartitionName, int], asked_s: float, coordinator: str) -> None: ...


class OffsetCommitter(GroupOffsets):
    """Commits ascending numbers without a transaction, and checks the committed offsets."""

    _number = 0

    async def run(self, interval_s: float) -> None:
        random = self._client.random
        while True:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            try:
                await self._commit()
                if random.random() < _CHECK_CHANCE:
                    await self.check()
            except NoAnswer:
                self._coordinator.forget()

    def _on_fetched(self, found: dict[PartitionName, int], asked_s: float, coordinator: str) -> None:
        self._client.history.commits.on_fetched(found, asked_s, coordinator)

    async def _commit(self) -> None:
        random, checker = self._client.random, self._client.history.commits
        self._number += 1
        number, sent_s = self._number, self._client.now_s
        topics = commit_topics(random, self._partitions, number)
        if random.random() < _TOO_LARGE_CHANCE:
            random.choice(random.choice(topics)["partitions"])["committed_metadata"] = (
                "m" * _METADATA_TOO_LARGE
            )
        coordinator = await self._coordinator.address()
        checker.on_send(number, sent_s)
        response = await self._coordinator.ask(_COMMIT, group_id=self.group, topics=topics)
        codes = {
            (topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }
        checker.on_answer(number, codes, coordinator[0])
        if ErrorCode.NOT_COORDINATOR in codes.values():
            self._coordinator.forget()
