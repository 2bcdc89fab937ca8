"""Three brokers in a simulation: a share group goes on where its coordinator died, and knows what others lead."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import alter_share_group_offsets as altering
from penstock.protocol.messages import describe_share_group_offsets as describing
from penstock.protocol.messages import share_group_heartbeat as heartbeats
from penstock_simulation.broker import SimulatedClock, run_simulated
from penstock_simulation.cluster.clients.client import GROUP, Address, Client, NoAnswer
from penstock_simulation.cluster.history import History
from penstock_simulation.cluster.machine import PORT, Ending, Machine
from penstock_simulation.cluster.plan import SETTINGS
from penstock_simulation.loop import SimulatedLoop
from tests.server.live import PRODUCE_LATEST, TopicHandle, batch, produce_request

T = TypeVar("T")
TOPIC, WORKERS = "orders", "workers"
PATIENT = (*SETTINGS, "num.partitions=3", "group.share.session.timeout.ms=30000")
"""A session outlasts the death of a coordinator, as it does by default."""


class Scene:
    def __init__(self, loop: SimulatedLoop, seed: int) -> None:
        self.loop = loop
        self.machines = [Machine(loop, seed, number, PATIENT) for number in (1, 2, 3)]
        self.client = Client(
            [(each.name, PORT) for each in self.machines], History(3, 4), Random(seed), SimulatedClock(loop)
        )
        self.topic = TopicHandle(TOPIC, b"")

    async def form(self) -> None:
        first, *others = self.machines
        await first.start()
        for each in others:
            await each.start(((first.name, PORT),))
        assert first.broker is not None
        controller = first.broker.services.controller
        await self.loop.run_on(first.name, controller.auto_create_topic(TOPIC))
        self.topic = TopicHandle(TOPIC, controller.image.topics[TOPIC].topic_id)

    async def insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer."""
        while True:
            try:
                return await ask()
            except NoAnswer:
                await asyncio.sleep(0.1)

    async def ask_coordinator(self, api: tuple[int, int], request: Any) -> Any:
        async def ask() -> Any:
            answer = await self.client.call(await self.coordinator(), api, request)
            if getattr(answer, "error_code", 0) in _PASSING:
                raise NoAnswer(ErrorCode(answer.error_code).name)
            return answer

        return await self.insist(ask)

    async def coordinator(self) -> Address:
        return await self.client.coordinator_of(WORKERS, GROUP)

    async def write(self, partition: int, *values: bytes) -> None:
        async def produce() -> None:
            leader = await self.client.leader_of((TOPIC, partition))
            request = produce_request(
                self.topic, {partition: batch(*values, timestamp=self.client.clock.now_ms())}
            )
            answer = await self.client.call(leader, (0, PRODUCE_LATEST), request)
            assert answer.responses[0].partition_responses[0].error_code == 0, answer

        await self.insist(produce)

    async def start_at_zero(self) -> None:
        partitions = [
            altering.AlterShareGroupOffsetsRequestPartition(partition_index=each, start_offset=0)
            for each in range(3)
        ]
        topics = [altering.AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=partitions)]
        answer = await self.ask_coordinator(
            (91, 0), altering.AlterShareGroupOffsetsRequest(group_id=WORKERS, topics=topics)
        )
        errors = [each.error_code for each in answer.responses[0].partitions]
        assert (answer.error_code, errors) == (0, [0, 0, 0]), answer

    async def lags(self) -> list[int]:
        wanted = describing.DescribeShareGroupOffsetsRequestGroup(group_id=WORKERS, topics=None)
        answer = await self.ask_coordinator(
            (90, 1), describing.DescribeShareGroupOffsetsRequest(groups=[wanted])
        )
        return [each.lag for each in answer.groups[0].topics[0].partitions]

    async def beat(self, epoch: int) -> heartbeats.ShareGroupHeartbeatResponse:
        request = heartbeats.ShareGroupHeartbeatRequest(
            group_id=WORKERS,
            member_id="m1",
            member_epoch=epoch,
            subscribed_topic_names=[TOPIC] if epoch == 0 else None,
        )
        answer: heartbeats.ShareGroupHeartbeatResponse = await self.ask_coordinator((76, 1), request)
        return answer


_PASSING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_member_stays_in_the_group_when_its_coordinator_dies(seed: int) -> None:
    async def story(loop: SimulatedLoop) -> None:
        scene = Scene(loop, seed)
        await scene.form()
        await scene.start_at_zero()
        for partition in range(3):
            await scene.write(partition, *[b"v"] * (partition + 1))
        assert await scene.lags() == [1, 2, 3], "though each has another leader"

        joined = await scene.beat(0)
        assert joined.assignment is not None
        assert [each.partitions for each in joined.assignment.topic_partitions] == [[0, 1, 2]]
        before = await scene.insist(scene.coordinator)
        dying = next(each for each in scene.machines if each.name == before[0])
        await dying.end(Ending.POWER_CUT)

        answer = await scene.beat(joined.member_epoch)
        assert (answer.error_code, answer.member_epoch, answer.assignment) == (
            0,
            joined.member_epoch,
            None,
        )
        assert await scene.insist(scene.coordinator) != before
        await dying.start()
        assert await scene.lags() == [1, 2, 3]

    run_simulated(seed, story)
