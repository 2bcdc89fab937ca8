"""Coordinator partitions of a live broker: loaded, reloaded after a failed write, handed over, dropped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import msgspec

from penstock.cluster.commit import Commit
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.coordination.partitions import CoordinatorPartitions
from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.replica import Replica
from penstock.groups.shard.shard import GroupShard
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.storage.errors import StorageError, StorageFailure
from penstock.storage.log.repair import LogRepair
from tests.groups.group_client import SETTINGS, GroupClient
from tests.server.live import Live, running_broker, until, within

Shards = CoordinatorPartitions[GroupShard]


def run(directory: Path, scenario: Callable[[Live, Shards, GroupClient], Awaitable[None]]) -> None:
    async def play() -> None:
        async with running_broker(directory, SETTINGS) as live:
            client = GroupClient(await live.connect(), "g")
            await client.find()
            await scenario(live, live.services.groups.shards, client)

    asyncio.run(play())


def ready_partition(shards: Shards) -> CoordinatorPartition[GroupShard]:
    found = shards.find("g")
    assert isinstance(found, CoordinatorPartition)
    return found


def test_a_new_topics_partitions_are_ready_at_once(tmp_path: Path) -> None:
    async def scenario(_: Live, shards: Shards, __: GroupClient) -> None:
        assert len(list(shards)) == shards.partition_count == 5
        assert not shards.is_loading

    run(tmp_path, scenario)


def test_a_failed_write_reloads_the_state_from_the_log(tmp_path: Path) -> None:
    async def scenario(_: Live, shards: Shards, client: GroupClient) -> None:
        topic = await client.client.create_topic()
        await client.commit(topic, {0: 1})
        before = ready_partition(shards)
        before.replica = cast("Replica", _Refusing(before.replica))
        assert await client.commit(topic, {0: 2}) == {0: "NOT_COORDINATOR"}

        await until(lambda: isinstance(shards.find("g"), CoordinatorPartition))

        assert ready_partition(shards) is not before
        assert (await client.committed(topic, 0))[0][0] == 1
        assert await client.commit(topic, {0: 3}) == {0: "NONE"}

    run(tmp_path, scenario)


def test_a_partition_is_reloaded_after_a_backoff_so_that_failing_loads_do_not_spin(
    tmp_path: Path,
) -> None:
    async def scenario(_: Live, shards: Shards, client: GroupClient) -> None:
        topic = await client.client.create_topic()
        await client.commit(topic, {0: 1})
        clock = shards._clock = ManualClock()
        partition = ready_partition(shards)
        partition.replica = cast("Replica", _Refusing(partition.replica))
        await client.commit(topic, {0: 2})
        for _turn in range(100):
            await asyncio.sleep(0)
        assert shards.is_loading
        assert shards.find("g") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

        clock.advance(1_000)
        await within(20, shards.wait_until_loaded())
        assert ready_partition(shards) is not partition

    run(tmp_path, scenario)


def test_a_partition_whose_log_has_failed_has_no_coordinator(tmp_path: Path) -> None:
    async def scenario(_: Live, shards: Shards, client: GroupClient) -> None:
        topic = await client.client.create_topic()
        await client.commit(topic, {0: 1})
        ready_partition(shards).replica.log.fail(StorageFailure("the disk is gone"))

        assert await client.commit(topic, {0: 2}) == {0: "NOT_COORDINATOR"}

        assert shards.find("g") is ErrorCode.NOT_COORDINATOR
        assert not shards.is_loading

    run(tmp_path, scenario)


class _Refusing:
    """A replica whose log refuses every append."""

    def __init__(self, replica: object) -> None:
        self._replica = replica

    def __getattr__(self, name: str) -> object:
        return getattr(self._replica, name)

    def append(self, *_: object, **__: object) -> Commit:
        commit = Commit(leader_epoch=0)
        commit.fail(StorageError("no room"))
        return commit


def test_a_partition_is_dropped_when_another_broker_leads_and_loaded_when_the_leadership_returns(
    tmp_path: Path,
) -> None:
    async def scenario(live: Live, shards: Shards, client: GroupClient) -> None:
        topic = await client.client.create_topic()
        await client.make_stable()
        await client.commit(topic, {0: 7})
        number = ready_partition(shards).number

        await _led_by(live, number, leader=2, epoch=1)
        assert shards.find("g") is ErrorCode.NOT_COORDINATOR
        assert await client.heartbeat() == "NOT_COORDINATOR"
        assert await client.commit(topic, {0: 8}) == {0: "NOT_COORDINATOR"}

        await _led_by(live, number, leader=1, epoch=2)
        await shards.wait_until_ready("g")
        assert await client.heartbeat() == "NONE"
        assert (await client.committed(topic, 0))[0][0] == 7

    run(tmp_path, scenario)


def test_a_partition_loaded_without_damaged_records_is_reloaded_when_they_are_repaired(
    tmp_path: Path,
) -> None:
    async def scenario(live: Live, shards: Shards, client: GroupClient) -> None:
        topic = await client.client.create_topic()
        await client.commit(topic, {0: 1})
        await client.commit(topic, {0: 2})
        partition = ready_partition(shards)
        log, number = partition.replica.log, partition.number
        with open(log.segments[0].log_path, "r+b") as file:
            file.seek(log.size_bytes - 20)
            sound = file.read(1)
            file.seek(log.size_bytes - 20)
            file.write(bytes([sound[0] ^ 1]))
        await _led_by(live, number, leader=2, epoch=1)
        await _led_by(live, number, leader=1, epoch=2)
        await shards.wait_until_loaded(number)
        assert (await client.committed(topic, 0))[0][0] == 1

        with open(log.segments[0].log_path, "r+b") as file:
            file.seek(log.size_bytes - 20)
            file.write(sound)
        await LogRepair(log).check(log.segments[0], lambda: asyncio.sleep(0))

        async def until_complete() -> None:
            while not isinstance(found := shards.find("g"), CoordinatorPartition) or found.gaps:
                await asyncio.sleep(0.01)

        await within(20, until_complete())
        assert (await client.committed(topic, 0))[0][0] == 2

    run(tmp_path, scenario)


async def _led_by(live: Live, number: int, *, leader: int, epoch: int) -> None:
    """The metadata after a change of leader."""
    image = live.services.controller.image
    topic = image.topics[CONSUMER_OFFSETS]
    before = topic.partitions[number]
    after = msgspec.structs.replace(before, leader=leader, leader_epoch=epoch)
    topic.partitions[number] = after
    delta = MetadataDelta(image.offset)
    delta.partition_changed(topic, number, before, after)
    await live.services.replicas.apply(delta, live.services.controller.config)
    live.services.groups.apply(delta)
