"""An administrator: creates, deletes and extends topics, moves replicas and elects leaders. See also `settings.py`."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster.clients.client import Api, Client, NoAnswer
from penstock_simulation.cluster.plan import PARTITION_COUNTS, REPLICA_COUNTS, TOPIC_SETTINGS
from penstock_simulation.cluster.values import PartitionName

_CREATE_TOPICS, _DELETE_TOPICS, _CREATE_PARTITIONS = (19, 5), (20, 5), (37, 2)
_ELECT_LEADERS, _REASSIGN = (43, 2), (45, 0)
_PREFERRED, _UNCLEAN = 0, 1
_TIMEOUT_MS = 3000
_REPLICAS_MIN = 2
_PARTITIONS_MAX = 4
_EXTRA_TOPICS_MAX = 3


class Admin:
    def __init__(
        self,
        client: Client,
        node_ids: Sequence[int],
        partitions: Sequence[PartitionName],
        unclean: PartitionName | None = None,
        *,
        name: str = "extra",
    ) -> None:
        """`partitions` may be moved; `unclean` gets unclean elections. Topics that it creates begin with `name`."""
        self.client = client
        self._node_ids = node_ids
        self.partitions = list(partitions)
        self._unclean = unclean
        self._name = name
        self._names: list[str] = []
        self._number = 0
        self.counts: Counter[str] = Counter()

    async def run(self, interval_s: float) -> None:
        kinds: list[Callable[[], Awaitable[bool]]] = [
            self._create_or_delete,
            self._delete_oldest,
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

    # -- topics ---------------------------------------------------------------------------------------

    async def create(self, name: str, partition_count: int, **settings: str) -> bool:
        """Create a topic; return whether that was acknowledged. An underscore in a setting's name is a dot."""
        topic = {
            "name": name,
            "num_partitions": partition_count,
            "replication_factor": REPLICA_COUNTS.get(name, 3),
            "configs": [
                {"name": each.replace("_", "."), "value": value}
                for each, value in {"min_insync_replicas": "2", **settings}.items()
            ],
        }
        response = await self._ask(_CREATE_TOPICS, topics=[topic])
        is_created = response is not None and response.topics[0].error_code in (
            ErrorCode.NONE,
            ErrorCode.TOPIC_ALREADY_EXISTS,  # an earlier try, whose answer was lost
        )
        if is_created:
            self.client.history.metadata.on_created(name, partition_count)
        return is_created

    async def create_by_plan(self, name: str) -> None:
        """Create a topic of the plan, with as many tries as it takes."""
        settings = TOPIC_SETTINGS.get(name, {})
        await self.client.retry(lambda: self.create(name, PARTITION_COUNTS[name], **settings))

    async def _create_or_delete(self) -> bool:
        if len(self._names) >= _EXTRA_TOPICS_MAX:
            return await self._delete_oldest()
        return await self._create_extra(self.client.random.choice([1, 1, _PARTITIONS_MAX]))

    async def _create_extra(self, partition_count: int) -> bool:
        self._number += 1
        name = f"{self._name}-{self._number}"
        is_created = await self.create(name, partition_count)
        if is_created:
            self._names.append(name)
        return is_created

    async def replace_oldest(self) -> None:
        """Create a topic with several partitions and delete an older one."""
        if len(self._names) > 1:
            await self._delete_oldest()
        await self._create_extra(_PARTITIONS_MAX)

    async def _delete_oldest(self) -> bool:
        return bool(self._names) and await self.delete(self._names.pop(0))

    async def delete(self, name: str) -> bool:
        """Delete a topic; return whether that was acknowledged."""
        self.client.history.metadata.on_delete_sent(name)
        response = await self._ask(_DELETE_TOPICS, topic_names=[name])
        is_deleted = response is not None and response.responses[0].error_code == ErrorCode.NONE
        if is_deleted:
            self.client.history.metadata.on_deleted(name)
        return is_deleted

    async def _add_partitions(self) -> bool:
        if not self._names:
            return False
        name = self.client.random.choice(self._names)
        metadata = self.client.history.metadata
        count = min(metadata.topics.get(name, 1) + 1, _PARTITIONS_MAX)
        response = await self._ask(
            _CREATE_PARTITIONS, topics=[{"name": name, "count": count, "assignments": None}]
        )
        is_done = response is not None and response.results[0].error_code == ErrorCode.NONE
        if is_done:
            metadata.on_created(name, count)
        return is_done

    # -- replicas and leaders -------------------------------------------------------------------------

    async def _move(self) -> bool:
        """Assign partitions to other nodes, to the same in another order, or to fewer."""
        random = self.client.random
        chosen = random.sample(self.partitions, random.choice([1, 1, 3]))
        counts = {
            each: REPLICA_COUNTS.get(each[0]) or random.choice([_REPLICAS_MIN, 3, 3]) for each in chosen
        }
        return await self._reassign({each: random.sample(self._node_ids, counts[each]) for each in chosen})

    async def _reassign(self, replicas: Mapping[PartitionName, list[int]]) -> bool:
        topics = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": number, "replicas": nodes}
                    for (topic, number), nodes in replicas.items()
                    if topic == name
                ],
            }
            for name in dict.fromkeys(topic for topic, _ in replicas)
        ]
        response = await self._ask(_REASSIGN, topics=topics)
        return response is not None and response.error_code == ErrorCode.NONE

    async def move_leaders(self, replicas: Mapping[PartitionName, Sequence[int]], node_id: int) -> bool:
        """Make a node the preferred leader of partitions, and elect it where it is in sync."""
        wanted = {
            name: [node_id, *(each for each in nodes if each != node_id)]
            for name, nodes in replicas.items()
            if node_id in nodes
        }
        return bool(wanted) and await self._reassign(wanted) and await self._elect(_PREFERRED, *wanted)

    async def _elect_preferred(self) -> bool:
        random = self.client.random
        count = random.choice([1, 1, len(self.partitions)])
        return await self._elect(_PREFERRED, *random.sample(self.partitions, count))

    async def _elect_uncleanly(self) -> bool:
        return self._unclean is not None and await self._elect(_UNCLEAN, self._unclean)

    async def _elect(self, kind: int, *partitions: PartitionName) -> bool:
        wanted = [
            {"topic": name, "partitions": [number for topic, number in partitions if topic == name]}
            for name in dict.fromkeys(topic for topic, _ in partitions)
        ]
        response = await self._ask(_ELECT_LEADERS, election_type=kind, topic_partitions=wanted)
        return response is not None and response.error_code == ErrorCode.NONE

    async def _ask(self, api: Api, **fields: Any) -> Any | None:
        try:
            return await self.client.ask_any(api, timeout_ms=_TIMEOUT_MS, **fields)
        except NoAnswer:
            return None
