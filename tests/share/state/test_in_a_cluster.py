"""Three brokers in a simulation: what the coordinator has said it keeps outlives it, one by one and all at once."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import msgspec
import pytest

from penstock.cluster.controller.delete_topics import TopicToDelete
from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.metadata.topic_names import SHARE_GROUP_STATE
from penstock.share.state.coordinator import Shard
from penstock.share.state.persister import ClusterPersister
from penstock.share.state.values import RecordState, SharePartitionKey, ShareState, StateBatch, StateUpdate
from penstock_simulation.broker import run_simulated
from penstock_simulation.cluster.machine import PORT, Ending, Machine
from penstock_simulation.cluster.plan import SETTINGS
from penstock_simulation.loop import SimulatedLoop

T = TypeVar("T")
TOPIC = "orders"
SMALL = (
    *SETTINGS,
    "share.coordinator.state.topic.num.partitions=1",
    "share.coordinator.snapshot.update.records.per.snapshot=3",
    "share.coordinator.state.topic.prune.interval.ms=1000",
    "share.coordinator.cold.partition.snapshot.interval.ms=2000",
)
ROUNDS = 4
WRITES = 5


class Scene:
    """A cluster, and a share partition; the test plays its leader, which moves from broker to broker."""

    def __init__(self, loop: SimulatedLoop, seed: int) -> None:
        self.loop = loop
        self.machines = [Machine(loop, seed, number, SMALL) for number in (1, 2, 3)]
        self.key = SharePartitionKey("group", b"", 0)
        self.acknowledged = 0
        self.coordinators: set[int] = set()

    async def form(self) -> None:
        first, *others = self.machines
        await first.start()
        for each in others:
            await each.start(((first.name, PORT),))
        assert first.broker is not None
        await self.on(first, first.broker.services.controller.auto_create_topic(TOPIC))
        topic_id = first.broker.services.controller.image.topics[TOPIC].topic_id
        self.key = self.key._replace(topic_id=topic_id)
        await self.on(first, self.persister(first).initialize(self.key, 1, 0))

    async def on(self, machine: Machine, work: Coroutine[Any, Any, T]) -> T:
        return await self.loop.run_on(machine.name, work)

    @staticmethod
    def persister(machine: Machine) -> ClusterPersister:
        assert machine.broker is not None
        return machine.broker.services.persister

    async def lead(self, leader: Machine, epoch: int) -> None:
        """Take over on this machine: all that was acknowledged is known, and some more is written."""
        persister = self.persister(leader)
        state = await self.on(leader, persister.read(self.key, epoch))
        assert state == self.expected()
        for _ in range(WRITES):
            done = StateBatch(self.acknowledged * 2, self.acknowledged * 2, RecordState.ACKNOWLEDGED, 1)
            update = StateUpdate(1, epoch, -1, self.acknowledged + 1, [done])
            await self.on(leader, persister.write(self.key, update))
            self.acknowledged += 1
        summary = await self.on(leader, persister.summary(self.key))
        assert (summary.leader_epoch, summary.delivery_complete_count) == (epoch, self.acknowledged)

    def expected(self) -> ShareState:
        done = range(0, self.acknowledged * 2, 2)
        return ShareState(1, 0, tuple(StateBatch(each, each, RecordState.ACKNOWLEDGED, 1) for each in done))

    def coordinator(self) -> Machine:
        """The machine that keeps the state now."""
        found = {
            partition.leader
            for each in self.machines
            if each.broker is not None
            and (partition := each.broker.services.controller.image.partition(SHARE_GROUP_STATE, 0))
            is not None
        }
        assert len(found) == 1, "nothing is under way"
        return self.machines[found.pop() - 1]

    def shard(self) -> Shard:
        broker = self.coordinator().broker
        assert broker is not None
        found = broker.services.share_state.shards.led(0)
        assert isinstance(found, CoordinatorPartition)
        return found

    async def delete_topic(self) -> None:
        first = self.machines[0]
        assert first.broker is not None
        await self.on(first, first.broker.services.controller.delete_topics([TopicToDelete(name=TOPIC)]))


@pytest.mark.parametrize("seed", [1, 2])
def test_acknowledgements_survive_the_coordinator_and_the_whole_cluster(seed: int) -> None:
    async def story(loop: SimulatedLoop) -> Scene:
        scene = Scene(loop, seed)
        await scene.form()
        for epoch in range(ROUNDS):
            dying = scene.coordinator()
            scene.coordinators.add(dying.node_id)
            await scene.lead(scene.machines[epoch % 3], epoch)
            await dying.end(Ending.POWER_CUT)
            survivor = next(each for each in scene.machines if each is not dying)
            await scene.lead(survivor, epoch)
            await dying.start()
        for each in scene.machines:
            await each.end(Ending.POWER_CUT)
        starts = [each.start() for each in scene.machines]
        for start in starts:
            await start
        await scene.lead(scene.machines[0], ROUNDS)
        return scene

    scene, _ = run_simulated(seed, story)
    assert len(scene.coordinators) > 1, "it was another one after the first had died"


def test_the_state_of_a_deleted_topic_is_deleted_when_enough_replicas_are_in_sync() -> None:
    async def story(loop: SimulatedLoop) -> None:
        scene = Scene(loop, 1)
        await scene.form()
        shard = scene.shard()
        await next(each for each in reversed(scene.machines) if each is not scene.coordinator()).end(
            Ending.KILLED
        )
        while shard.replica.state is None or len(shard.replica.state.isr) > 2:
            await asyncio.sleep(0.1)
        log, usual = shard.replica.log, shard.replica.log.config
        log.configure(msgspec.structs.replace(usual, min_insync_replicas=3))

        await scene.delete_topic()
        await asyncio.sleep(3)
        assert scene.shard() is shard, "it was not loaded again"
        assert len(shard.state) == 1
        log.configure(usual)

        while len(shard.state):
            await asyncio.sleep(0.1)

    run_simulated(1, story)
