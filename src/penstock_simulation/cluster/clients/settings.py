"""An administrator of settings and records: the guarantees of a topic change while it is used.

`min.insync.replicas` goes up and down, for a topic and for the whole cluster; so do flush settings, retention,
unclean elections, and for moments the size of a coordinator's records. Records are deleted, and a topic is deleted
and created again under its name. When no more faults come, `restore` makes everything writable again.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from penstock.cluster.metadata.image import ResourceType
from penstock.protocol.errors import ErrorCode
from penstock_simulation.cluster import plan
from penstock_simulation.cluster.clients.admin import Admin
from penstock_simulation.cluster.clients.client import Client, NoAnswer
from penstock_simulation.cluster.clients.offsets import BATCH_BYTES_MAX, OFFSETS_TOPIC
from penstock_simulation.cluster.clients.requests import LATEST, alter_configs, delete_records, list_offset

_MIN_ISR, _MESSAGE_BYTES = "min.insync.replicas", "max.message.bytes"
_FILLER_COUNT = 150
_MESSAGE_BYTES_MIN, _MESSAGE_BYTES_MAX = 100, 400
_RESTORE_INTERVAL_S = 2.0

Kind = Callable[[], Awaitable[bool]]


class SettingsAdmin:
    """Changes settings on request."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def set_min_isr(self, topic: str, count: int) -> bool:
        return await self._set_topic(topic, _MIN_ISR, str(count))

    async def fill_metadata_log(self, client: Client) -> bool:
        """Change a long setting that has no effect without a rate, so that the metadata log grows."""
        first = self._client.random.randrange(1000, 9000)
        value = ",".join(f"{number}:1" for number in range(first, first + _FILLER_COUNT))
        name = "follower.replication.throttled.replicas"
        return await self._set_topic(plan.UNCLEAN, name, value, client)

    async def _set_topic(
        self, topic: str, name: str, value: str | None, client: Client | None = None
    ) -> bool:
        return await self._set(ResourceType.TOPIC, topic, name, value, client)

    async def _set(
        self, kind: ResourceType, resource: str, name: str, value: str | None, client: Client | None = None
    ) -> bool:
        """Change a setting, with None to its default; return whether that was acknowledged."""
        metadata = self._client.history.metadata
        change = metadata.on_change_sent(kind, resource, name, value)
        try:
            code = await alter_configs(client or self._client, kind, resource, {name: value})
        except NoAnswer:
            return False
        if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return True  # a coordinator's topic that does not exist yet
        if code is ErrorCode.NONE:
            metadata.on_changed(change)
        return code is ErrorCode.NONE


class RandomSettingsAdmin(SettingsAdmin):
    """Changes settings at random. `topics` are the optional topics of this run."""

    def __init__(self, client: Client, admin: Admin, topics: Sequence[str]) -> None:
        super().__init__(client)
        self._topics = topics
        self._admin = admin
        self.counts: Counter[str] = Counter()
        self._lock = asyncio.Lock()
        self._is_restoring = False
        self._uncertain: set[str] = set()
        """Topics with a limit that was requested and not answered: it may still be applied, after a later change."""

    async def run(self, interval_s: float) -> None:
        kinds: list[tuple[str | None, Kind, int]] = [
            (plan.PAIR, self._change_min_isr, 5),
            (None, self._change_default_min_isr, 2),
            (None, self._change_other_min_isr, 1),
            (plan.UNSYNCED, self._change_flushing, 2),
            (plan.EXPIRING, self._change_retention, 2),
            (plan.EXPIRING, self._delete_records, 2),
            (None, self._change_elections, 1),
            (None, self._reject_coordinator_records, 2),
            (plan.RECREATED, self._recreate_topic, 2),
        ]
        random = self._client.random
        usable = [(kind, weight) for topic, kind, weight in kinds if topic is None or topic in self._topics]
        choices, weights = zip(*usable, strict=True)
        while not self._is_restoring:
            await asyncio.sleep(random.expovariate(1 / interval_s))
            (kind,) = random.choices(choices, weights)
            async with self._lock:
                if not self._is_restoring and await kind():
                    self.counts[kind.__name__.strip("_")] += 1
        while self._uncertain:
            await asyncio.sleep(_RESTORE_INTERVAL_S)
            for topic in sorted(self._uncertain):
                await self._set_message_bytes(topic, None)

    async def restore(self) -> None:
        """Stop changing settings, and remove those that keep producers from writing."""
        self._is_restoring = True
        async with self._lock:
            for topic, _ in plan.INTERNAL:
                await self._set_message_bytes(topic, None)
            if plan.RECREATED in self._topics and plan.RECREATED not in self._client.history.metadata.topics:
                await self._client.retry(lambda: self._admin.create(plan.RECREATED, 1))

    async def _set_message_bytes(self, topic: str, value: str | None) -> None:
        await self._client.retry(lambda: self._set_topic(topic, _MESSAGE_BYTES, value))

    # -- settings -------------------------------------------------------------------------------------

    async def _change_min_isr(self) -> bool:
        return await self._set_topic(plan.PAIR, _MIN_ISR, self._client.random.choice(["1", "1", "2", None]))

    async def _change_default_min_isr(self) -> bool:
        value = self._client.random.choice(["1", "2", "2"])  # it cannot be removed
        return await self._set(ResourceType.BROKER, "", _MIN_ISR, value)

    async def _change_other_min_isr(self) -> bool:
        internal = [name for name, _ in plan.INTERNAL]
        topic = self._client.random.choice([plan.ORDERS, plan.LEDGER, plan.LEADER_ACKS, *internal])
        return await self._set_topic(topic, _MIN_ISR, self._client.random.choice(["1", "2", "2"]))

    async def _change_flushing(self) -> bool:
        choices: dict[str, list[str | None]] = {
            "flush.messages": ["1", "3", "20", "1000"],
            "flush.ms": ["50", "1000", None],
        }
        return await self._change_one_of(plan.UNSYNCED, choices)

    async def _change_retention(self) -> bool:
        choices: dict[str, list[str | None]] = {
            "retention.bytes": ["1000", "4000", None],
            "retention.ms": ["500", "3000", None],
        }
        return await self._change_one_of(plan.EXPIRING, choices)

    async def _change_one_of(self, topic: str, choices: dict[str, list[str | None]]) -> bool:
        name, values = self._client.random.choice(list(choices.items()))
        return await self._set_topic(topic, name, self._client.random.choice(values))

    async def _change_elections(self) -> bool:
        value = self._client.random.choice(["true", "false"])
        return await self._set_topic(plan.UNCLEAN, "unclean.leader.election.enable", value)

    async def _reject_coordinator_records(self) -> bool:
        """Make the records of a coordinator too large for its topic, for a while."""
        random = self._client.random
        topic, _ = random.choice(plan.INTERNAL)
        limit = random.randint(_MESSAGE_BYTES_MIN, _MESSAGE_BYTES_MAX)
        is_changed = await self._set_topic(topic, _MESSAGE_BYTES, str(limit))
        if not is_changed:
            self._uncertain.add(topic)
        await asyncio.sleep(random.uniform(0.1, 1.5))
        await self._set_message_bytes(topic, str(BATCH_BYTES_MAX) if topic == OFFSETS_TOPIC else None)
        return is_changed

    # -- records --------------------------------------------------------------------------------------

    async def _delete_records(self) -> bool:
        random = self._client.random
        partition = random.choice(plan.PARTITIONS[plan.EXPIRING])
        try:
            leader = await self._client.leader_of(partition)
            end_offset = await list_offset(self._client, leader, partition, LATEST)
            offset = random.choice([-1, random.randint(0, end_offset)])
            return await delete_records(self._client, leader, partition, offset)
        except NoAnswer:
            return False

    async def _recreate_topic(self) -> bool:
        """Delete a topic and create another of its name, with other partitions at times."""
        metadata, random = self._client.history.metadata, self._client.random
        if plan.RECREATED in metadata.topics and not await self._admin.delete(plan.RECREATED):
            metadata.uncertain.add(plan.RECREATED)
        await asyncio.sleep(random.choice([0, random.uniform(0, 1)]))
        is_created = await self._admin.create(plan.RECREATED, random.choice([1, 1, 3]))
        if not is_created:
            metadata.uncertain.add(plan.RECREATED)
        return is_created
