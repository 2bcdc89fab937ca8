"""Offsets of groups that are committed for many partitions at once, with metadata: some take several batches.

`Clerk` commits without a transaction. Some of its commits are larger than the offsets topic takes: they are refused,
and then nobody may find them.
"""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from random import Random

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import incremental_alter_configs as configs
from penstock.protocol.messages import offset_commit, offset_fetch
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import GROUP, Address, Client, NoAnswer

_COMMIT, _FETCH, _ALTER_CONFIGS = (8, 8), (9, 8), (44, 1)
_TOPIC_SETTINGS = 2
OFFSETS_TOPIC = "__consumer_offsets"
BATCH_BYTES_MAX = 2000
_OVERSIZED_CHANCE = 0.1
_OVERSIZED = (2000, 4000)
"""Too large for a batch, and less than `offset.metadata.max.bytes`."""
_METADATA_TOO_LARGE = 5000
_TOO_LARGE_CHANCE = 0.1
_LOOK_CHANCE = 0.6


async def limit_batches(client: Client, group: str) -> bool:
    """Let the offsets topic take small batches only; whether that was acknowledged."""
    resource = configs.AlterConfigsResource(
        resource_type=_TOPIC_SETTINGS,
        resource_name=OFFSETS_TOPIC,
        configs=[
            configs.AlterableConfig(name="max.message.bytes", config_operation=0, value=str(BATCH_BYTES_MAX))
        ],
    )
    try:
        await client.coordinator_of(group, GROUP)  # now there is such a topic
        answer = await client.ask_anybody(
            _ALTER_CONFIGS, configs.IncrementalAlterConfigsRequest(resources=[resource])
        )
    except NoAnswer:
        return False
    return bool(answer.responses[0].error_code == ErrorCode.NONE)


def draw_metadata(random: Random, partitions: Sequence[PartitionName]) -> dict[PartitionName, str]:
    """For all partitions together more than a batch takes, and now and then more for a single one."""
    sizes = {each: random.randint(0, 900) for each in partitions}
    if random.random() < _OVERSIZED_CHANCE:
        sizes[random.choice(partitions)] = random.randint(*_OVERSIZED)
    return {each: "m" * size for each, size in sizes.items()}


def by_topic(partitions: Sequence[PartitionName]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [number for _, number in of_one])
        for topic, of_one in groupby(sorted(partitions), lambda each: each[0])
    ]


async def fetch_offsets(
    client: Client, coordinator: Address, group: str, partitions: Sequence[PartitionName]
) -> dict[PartitionName, int]:
    """What a group has committed, -1 for nothing, when no transaction is about to change it. Raises `NoAnswer`."""
    topics = [
        offset_fetch.OffsetFetchRequestTopics(name=topic, partition_indexes=numbers)
        for topic, numbers in by_topic(partitions)
    ]
    wanted = offset_fetch.OffsetFetchRequestGroup(group_id=group, topics=topics)
    request = offset_fetch.OffsetFetchRequest(groups=[wanted], require_stable=True)
    (found,) = (await client.call(coordinator, _FETCH, request)).groups
    codes = [found.error_code] + [each.error_code for topic in found.topics for each in topic.partitions]
    if any(codes):
        raise NoAnswer(", ".join(ErrorCode(each).name for each in codes if each))
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in found.topics
        for each in topic.partitions
    }


class Clerk:
    """Commits one number after the other, for all partitions alike, and looks at what it has committed."""

    def __init__(self, client: Client, group: str, partitions: Sequence[PartitionName]) -> None:
        self._client = client
        self.group = group
        self._partitions = partitions
        self._coordinator: Address | None = None
        self._number = 0

    async def run(self, interval_s: float) -> None:
        random = self._client.random
        while True:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            try:
                await self._commit()
                if random.random() < _LOOK_CHANCE:
                    await self.look()
            except NoAnswer:
                self._coordinator = None

    async def look(self) -> None:
        """Raises `NoAnswer`."""
        asked_s = self._client.now_s
        try:
            found = await fetch_offsets(self._client, await self._found(), self.group, self._partitions)
        except NoAnswer:
            self._coordinator = None
            raise
        self._client.history.commits.finds(found, asked_s)

    async def _commit(self) -> None:
        random, checker = self._client.random, self._client.history.commits
        self._number += 1
        number, sent_s = self._number, self._client.now_s
        metadata = draw_metadata(random, self._partitions)
        if random.random() < _TOO_LARGE_CHANCE:
            metadata[random.choice(self._partitions)] = "m" * _METADATA_TOO_LARGE
        coordinator = await self._found()
        checker.commits(number, sent_s)
        answer = await self._client.call(coordinator, _COMMIT, self._request(metadata))
        codes = {
            (topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        checker.answered(number, codes)
        if any(code is ErrorCode.NOT_COORDINATOR for code in codes.values()):
            self._coordinator = None

    def _request(self, metadata: dict[PartitionName, str]) -> offset_commit.OffsetCommitRequest:
        return offset_commit.OffsetCommitRequest(
            group_id=self.group,
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        offset_commit.OffsetCommitRequestPartition(
                            partition_index=each,
                            committed_offset=self._number,
                            committed_metadata=metadata[topic, each],
                        )
                        for each in numbers
                    ],
                )
                for topic, numbers in by_topic(self._partitions)
            ],
        )

    async def _found(self) -> Address:
        if self._coordinator is None:
            self._coordinator = await self._client.coordinator_of(self.group, GROUP)
        return self._coordinator
