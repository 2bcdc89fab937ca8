"""An administrator of settings and records: what a topic promises changes while it is used.

`min.insync.replicas` goes up and down, for a topic and for the whole cluster; so do flush settings, retention, who may
be elected, and for a moment how large a record of a coordinator may be. Records are deleted, and a topic is deleted and
created again under its name. When no more faults come, `settle` makes everything as it was.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from penstock.cluster.controller.alter_configs import Operation
from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import incremental_alter_configs as alter
from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.clients.client import Client, NoAnswer
from penstock.testing.simulation.cluster.clients.log_offsets import LATEST, delete_before, find_offset
from penstock.testing.simulation.cluster.clients.offsets import BATCH_BYTES_MAX, OFFSETS_TOPIC
from penstock.testing.simulation.cluster.plan import (
    DRAFTS,
    FLEETING,
    GOSSIP,
    INTERNAL,
    LEDGER,
    ORDERS,
    PAIR,
    PARTITIONS,
    RELAXED,
    RENEWED,
)

_ALTER_CONFIGS = (44, 1)
_MIN_ISR, _MESSAGE_BYTES = "min.insync.replicas", "max.message.bytes"
_FILLING = 150
_MESSAGE_BYTES_MIN, _MESSAGE_BYTES_MAX = 100, 400


Kind = Callable[[], Awaitable[bool]]


class SettingsAdmin:
    """Changes what it is asked to."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set_min_isr(self, topic: str, count: int) -> bool:
        return await self._set(ResourceType.TOPIC, topic, _MIN_ISR, str(count))

    async def fill(self, client: Client) -> bool:
        """Make the log of the metadata longer: a long setting is changed, which means nothing without a rate."""
        first = self._client.random.randrange(1000, 9000)
        value = ",".join(f"{number}:1" for number in range(first, first + _FILLING))
        name = "follower.replication.throttled.replicas"
        return await self._set(ResourceType.TOPIC, DRAFTS, name, value, client)

    async def _insist(self, kind: ResourceType, resource: str, name: str, value: str | None) -> None:
        while not await self._set(kind, resource, name, value):
            await self._client.rest()

    async def _set(
        self,
        kind: ResourceType,
        resource: str,
        name: str,
        value: str | None,
        client: Client | None = None,
    ) -> bool:
        """Set a setting, or with None leave it to its default; whether that was acknowledged."""
        metadata = self._client.history.metadata
        change = metadata.sends_change(kind, resource, name, value)
        operation = Operation.DELETE if value is None else Operation.SET
        config = alter.AlterableConfig(name=name, config_operation=operation, value=value)
        request = alter.IncrementalAlterConfigsRequest(
            resources=[
                alter.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
            ]
        )
        try:
            answer = await (client or self._client).ask_anybody(_ALTER_CONFIGS, request)
        except NoAnswer:
            return False
        code = ErrorCode(answer.responses[0].error_code)
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True  # a coordinator's topic that nobody has needed yet
        if code is ErrorCode.NONE:
            metadata.acknowledges_change(change)
        return code is ErrorCode.NONE


class RestlessAdmin(SettingsAdmin):
    """`topics` are those of `SIDES` that there are."""

    def __init__(self, client: Client, admin: Admin, topics: Sequence[str]) -> None:
        super().__init__(client)
        self._topics = topics
        self._admin = admin
        self.counts: Counter[str] = Counter()
        self._changing = asyncio.Lock()
        self._is_settling = False

    async def run(self, interval_s: float) -> None:
        kinds: list[tuple[str | None, Kind, int]] = [
            (PAIR, self._change_min_isr, 5),
            (None, self._change_default_min_isr, 2),
            (None, self._change_other_min_isr, 1),
            (RELAXED, self._change_flushing, 2),
            (FLEETING, self._change_retention, 2),
            (FLEETING, self._delete_records, 2),
            (None, self._change_elections, 1),
            (None, self._refuse_coordinators, 2),
            (RENEWED, self._renew_topic, 2),
        ]
        random = self._client.random
        here = [(kind, weight) for topic, kind, weight in kinds if topic is None or topic in self._topics]
        choices, weights = zip(*here, strict=True)
        while not self._is_settling:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            (kind,) = random.choices(choices, weights)
            async with self._changing:
                if not self._is_settling and await kind():
                    self.counts[kind.__name__.strip("_")] += 1

    async def settle(self) -> None:
        """Change nothing any more, and let no setting stand in the way of writers, however often it takes."""
        self._is_settling = True
        async with self._changing:
            await self._settle()

    async def _settle(self) -> None:
        for topic, _ in INTERNAL:
            await self._insist(ResourceType.TOPIC, topic, _MESSAGE_BYTES, None)
        if RENEWED in self._topics and RENEWED not in self._client.history.metadata.topics:
            while not await self._admin.create(RENEWED, 1):
                await self._client.rest()

    # -- settings -------------------------------------------------------------------------------------

    async def _change_min_isr(self) -> bool:
        value = self._client.random.choice(["1", "1", "2", None])
        return await self._set(ResourceType.TOPIC, PAIR, _MIN_ISR, value)

    async def _change_default_min_isr(self) -> bool:
        value = self._client.random.choice(["1", "2", "2"])  # it cannot be removed
        return await self._set(ResourceType.BROKER, "", _MIN_ISR, value)

    async def _change_other_min_isr(self) -> bool:
        topic = self._client.random.choice([ORDERS, LEDGER, GOSSIP, *(name for name, _ in INTERNAL)])
        return await self._set(
            ResourceType.TOPIC, topic, _MIN_ISR, self._client.random.choice(["1", "2", "2"])
        )

    async def _change_flushing(self) -> bool:
        random = self._client.random
        choices: list[tuple[str, list[str | None]]] = [
            ("flush.messages", ["1", "3", "20", "1000"]),
            ("flush.ms", ["50", "1000", None]),
        ]
        name, values = random.choice(choices)
        return await self._set(ResourceType.TOPIC, RELAXED, name, random.choice(values))

    async def _change_retention(self) -> bool:
        random = self._client.random
        name, values = random.choice(
            [("retention.bytes", ["1000", "4000", None]), ("retention.ms", ["500", "3000", None])]
        )
        return await self._set(ResourceType.TOPIC, FLEETING, name, random.choice(values))

    async def _change_elections(self) -> bool:
        value = self._client.random.choice(["true", "false"])
        return await self._set(ResourceType.TOPIC, DRAFTS, "unclean.leader.election.enable", value)

    async def _refuse_coordinators(self) -> bool:
        """For a while what a coordinator wants to write is too large for its topic."""
        random = self._client.random
        topic, _ = random.choice(INTERNAL)
        limit = random.randint(_MESSAGE_BYTES_MIN, _MESSAGE_BYTES_MAX)
        is_changed = await self._set(ResourceType.TOPIC, topic, _MESSAGE_BYTES, str(limit))
        await asyncio.sleep(random.uniform(0.1, 1.5))
        usual = str(BATCH_BYTES_MAX) if topic == OFFSETS_TOPIC else None
        await self._insist(ResourceType.TOPIC, topic, _MESSAGE_BYTES, usual)
        return is_changed

    # -- records --------------------------------------------------------------------------------------

    async def _delete_records(self) -> bool:
        random = self._client.random
        partition = random.choice(PARTITIONS[FLEETING])
        try:
            end_offset = await find_offset(self._client, partition, LATEST)
            return await delete_before(
                self._client, partition, random.choice([-1, random.randint(0, end_offset)])
            )
        except NoAnswer:
            return False

    async def _renew_topic(self) -> bool:
        """Delete a topic and create another of its name, with other partitions as it happens."""
        metadata = self._client.history.metadata
        if RENEWED in metadata.topics and not await self._admin.delete(RENEWED):
            metadata.uncertain.add(RENEWED)
        await asyncio.sleep(self._client.random.choice([0, self._client.random.uniform(0, 1)]))
        is_made = await self._admin.create(RENEWED, self._client.random.choice([1, 1, 3]))
        if not is_made:
            metadata.uncertain.add(RENEWED)
        return is_made
