"""An administrator who is never content: topics come and go and grow, replicas move, leaders are elected anew.

Settings are changed by another, see `settings`.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import (
    alter_partition_reassignments as reassign,
)
from penstock.protocol.messages import (
    create_partitions,
    create_topics,
    delete_topics,
    elect_leaders,
)
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Client, NoAnswer
from penstock.testing.simulation.cluster.plan import PARTITION_COUNTS, REPLICA_COUNTS, TOPIC_SETTINGS

_CREATE_TOPICS, _DELETE_TOPICS, _CREATE_PARTITIONS = (19, 5), (20, 5), (37, 2)
_ELECT_LEADERS, _REASSIGN = (43, 2), (45, 0)
_PREFERRED, _UNCLEAN = 0, 1
_WAIT_MS = 3000
_REPLICAS_MIN = 2
_PARTITIONS_MAX = 4
_EXTRA_MAX = 3


class Admin:
    def __init__(
        self,
        client: Client,
        node_ids: Sequence[int],
        partitions: Sequence[PartitionName],
        losing: PartitionName | None = None,
        *,
        name: str = "extra",
    ) -> None:
        """`partitions` may be moved about; `losing` is elected uncleanly now and then. Its topics have its `name`."""
        self.client = client
        self._node_ids = node_ids
        self.partitions = list(partitions)
        self._losing = losing
        self._name = name
        self._names: list[str] = []
        self._number = 0
        self.counts: Counter[str] = Counter()

    async def run(self, interval_s: float) -> None:
        kinds: list[Callable[[], Awaitable[bool]]] = [
            self._create_some,
            self._delete,
            self._add_partitions,
            self._move,
            self._elect_preferred,
            self._elect_uncleanly,
        ]
        random = self.client.random
        while True:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            (kind,) = random.choices(kinds, [2, 1, 1, 3, 2, 1])
            if await kind():
                self.counts[kind.__name__.strip("_")] += 1

    async def create(self, name: str, partition_count: int, **settings: str) -> bool:
        """Whether it was acknowledged. Settings are named with underscores; an empty one is left to the default."""
        configs = [
            create_topics.CreatableTopicConfig(name=each.replace("_", "."), value=value)
            for each, value in {"min_insync_replicas": "2", **settings}.items()
            if value
        ]
        topic = create_topics.CreatableTopic(
            name=name,
            num_partitions=partition_count,
            replication_factor=REPLICA_COUNTS.get(name, 3),
            configs=configs,
        )
        answer = await self._ask(
            _CREATE_TOPICS, create_topics.CreateTopicsRequest(topics=[topic], timeout_ms=_WAIT_MS)
        )
        is_made = answer is not None and answer.topics[0].error_code in (
            ErrorCode.NONE,
            ErrorCode.TOPIC_ALREADY_EXISTS,  # an earlier try, whose answer was lost
        )
        if is_made:
            self.client.history.metadata.created(name, partition_count)
        return is_made

    async def create_by_plan(self, name: str) -> None:
        """However often it takes."""
        while not await self.create(name, PARTITION_COUNTS[name], **TOPIC_SETTINGS.get(name, {})):
            await self.client.rest()

    async def _create_some(self) -> bool:
        if len(self._names) >= _EXTRA_MAX:
            return await self._delete()
        return await self._create(self.client.random.choice([1, 1, _PARTITIONS_MAX]))

    async def _create(self, partition_count: int) -> bool:
        self._number += 1
        name = f"{self._name}-{self._number}"
        is_made = await self.create(name, partition_count)
        if is_made:
            self._names.append(name)
        return is_made

    async def grow(self) -> None:
        """Create a topic with several partitions; an older one goes."""
        if len(self._names) > 1:
            await self._delete()
        await self._create(_PARTITIONS_MAX)

    async def _delete(self) -> bool:
        return bool(self._names) and await self.delete(self._names.pop(0))

    async def delete(self, name: str) -> bool:
        """Whether it was acknowledged."""
        self.client.history.metadata.deleting(name)
        request = delete_topics.DeleteTopicsRequest(topic_names=[name], timeout_ms=_WAIT_MS)
        answer = await self._ask(_DELETE_TOPICS, request)
        is_gone = answer is not None and answer.responses[0].error_code == ErrorCode.NONE
        if is_gone:
            self.client.history.metadata.deleted(name)
        return is_gone

    async def _add_partitions(self) -> bool:
        if not self._names:
            return False
        name = self.client.random.choice(self._names)
        known = self.client.history.metadata.topics.get(name, 1)
        count = min(known + 1, _PARTITIONS_MAX)
        topic = create_partitions.CreatePartitionsTopic(name=name, count=count, assignments=None)
        request = create_partitions.CreatePartitionsRequest(topics=[topic], timeout_ms=_WAIT_MS)
        answer = await self._ask(_CREATE_PARTITIONS, request)
        is_made = answer is not None and answer.results[0].error_code == ErrorCode.NONE
        if is_made:
            self.client.history.metadata.created(name, count)
        return is_made

    async def _move(self) -> bool:
        """Put a partition on other nodes, or the same in another order, or on fewer; or several at once."""
        random = self.client.random
        chosen = random.sample(self.partitions, random.choice([1, 1, 3]))
        return await self._reassign({each: self._place(each[0]) for each in chosen})

    def _place(self, topic: str) -> list[int]:
        random = self.client.random
        count = REPLICA_COUNTS.get(topic) or random.choice([_REPLICAS_MIN, 3, 3])
        return random.sample(self._node_ids, count)

    async def _reassign(self, places: dict[PartitionName, list[int]]) -> bool:
        topics = [
            reassign.ReassignableTopic(
                name=name,
                partitions=[
                    reassign.ReassignablePartition(partition_index=number, replicas=replicas)
                    for (topic, number), replicas in places.items()
                    if topic == name
                ],
            )
            for name in dict.fromkeys(topic for topic, _ in places)
        ]
        request = reassign.AlterPartitionReassignmentsRequest(timeout_ms=_WAIT_MS, topics=topics)
        answer = await self._ask(_REASSIGN, request)
        return answer is not None and answer.error_code == ErrorCode.NONE

    async def hand_over(self, replicas: Mapping[PartitionName, Sequence[int]], node_id: int) -> bool:
        """Have a node lead partitions: it becomes the first of their replicas, and is elected if it is in sync."""
        places = {
            name: [node_id, *(each for each in nodes if each != node_id)]
            for name, nodes in replicas.items()
            if node_id in nodes
        }
        return bool(places) and await self._reassign(places) and await self._elect(_PREFERRED, *places)

    async def _elect_preferred(self) -> bool:
        random = self.client.random
        count = random.choice([1, 1, len(self.partitions)])
        return await self._elect(_PREFERRED, *random.sample(self.partitions, count))

    async def _elect_uncleanly(self) -> bool:
        return self._losing is not None and await self._elect(_UNCLEAN, self._losing)

    async def _elect(self, kind: int, *partitions: PartitionName) -> bool:
        wanted = [
            elect_leaders.TopicPartitions(
                topic=name, partitions=[number for topic, number in partitions if topic == name]
            )
            for name in dict.fromkeys(topic for topic, _ in partitions)
        ]
        request = elect_leaders.ElectLeadersRequest(
            election_type=kind, topic_partitions=wanted, timeout_ms=_WAIT_MS
        )
        answer = await self._ask(_ELECT_LEADERS, request)
        return answer is not None and answer.error_code == ErrorCode.NONE

    async def _ask(self, api: tuple[int, int], request: Any) -> Any | None:
        try:
            return await self.client.ask_anybody(api, request)
        except NoAnswer:
            return None
