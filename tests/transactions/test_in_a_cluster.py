"""Three brokers in a simulation: the end of a transaction waits for replicas of the coordinator's log."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

import msgspec

from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.metadata.state import Partition
from penstock.cluster.metadata.topic_names import TRANSACTION_STATE
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.storage.log.log import Log
from penstock.transactions.coordinator import Ids, TransactionCoordinator
from penstock.transactions.markers import Marker, MarkerSender
from penstock.transactions.state import TopicPartition, Transaction
from penstock_simulation.broker import run_simulated
from penstock_simulation.cluster.machine import PORT, Ending, Machine
from penstock_simulation.cluster.plan import SETTINGS
from penstock_simulation.loop import SimulatedLoop

T = TypeVar("T")
TOPIC, APP = "orders", "app"
REPLICATED = (*SETTINGS, "default.replication.factor=3")
VIRTUAL_S = 3


class TooFewAfterwards:
    """A sender after whose first markers the coordinator's log needs more in-sync replicas than it has."""

    def __init__(self, real: MarkerSender, log: Log) -> None:
        self.real = real
        self.log = log
        self.usual = log.config

    async def send(
        self, marker: Marker, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        outcomes = await self.real.send(marker, partitions)
        self.log.configure(msgspec.structs.replace(self.usual, min_insync_replicas=3))
        return outcomes


class Scene:
    """A cluster without one of its brokers, and a transactional id that another one coordinates."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.machines = [Machine(loop, 1, number, REPLICATED) for number in (1, 2, 3)]
        self.home = self.machines[0]

    async def form(self) -> None:
        first, *others = self.machines
        await first.start()
        for each in others:
            await each.start(((first.name, PORT),))
        await self.on_home(self.services.controller.auto_create_topic(TOPIC))
        await self.on_home(self.transactions.ensure_ready(APP))
        await self.until(lambda: self.state_of(TRANSACTION_STATE).leader > 0)
        self.home = self.machines[self.state_of(TRANSACTION_STATE).leader - 1]
        topics = (TOPIC, TRANSACTION_STATE)
        await self.until(lambda: all(self.services.controller.image.partition(each, 0) for each in topics))
        await next(each for each in self.machines if each is not self.home).end(Ending.KILLED)
        await self.until(lambda: all(len(self.state_of(each).isr) == 2 for each in topics))
        await self.until(lambda: isinstance(self.transactions.partitions.find(APP), CoordinatorPartition))

    @property
    def services(self) -> Any:
        assert self.home.broker is not None
        return self.home.broker.services

    @property
    def transactions(self) -> TransactionCoordinator:
        found: TransactionCoordinator = self.services.transactions
        return found

    @property
    def ids(self) -> Ids:
        found = self.transactions.partitions.find(APP)
        assert isinstance(found, CoordinatorPartition)
        return found

    @property
    def transaction(self) -> Transaction:
        found = self.transactions.get(APP)
        assert isinstance(found, Transaction)
        return found

    def state_of(self, topic: str) -> Partition:
        found: Partition | None = self.services.controller.image.partition(topic, 0)
        assert found is not None
        return found

    def leader_of(self, topic: str) -> Replica:
        broker = self.machines[self.state_of(topic).leader - 1].broker
        assert broker is not None
        replica = broker.services.replicas.get(topic, 0)
        assert replica is not None
        return replica

    async def on_home(self, work: Coroutine[Any, Any, T]) -> T:
        return await self.loop.run_on(self.home.name, work)

    @staticmethod
    async def until(is_so: Callable[[], bool]) -> None:
        while not is_so():
            await asyncio.sleep(0.05)


def test_no_marker_is_resent_while_the_coordinators_log_lacks_in_sync_replicas() -> None:
    async def story(loop: SimulatedLoop) -> None:
        scene = Scene(loop)
        await scene.form()
        producer = (await scene.on_home(scene.transactions.init_producer(APP, timeout_ms=60_000))).producer
        target = TopicPartition(TOPIC, 0)
        added = await scene.on_home(scene.transactions.add_partitions(APP, producer, [target]))
        assert added is ErrorCode.NONE
        ids, completions = scene.ids, scene.transactions._completions
        completions._markers = sender = TooFewAfterwards(completions._markers, ids.replica.log)

        ended = await scene.on_home(scene.transactions.end(APP, producer, commit=True, client_version=1))
        assert ended.error is ErrorCode.NONE
        await asyncio.sleep(VIRTUAL_S)
        again = await scene.on_home(scene.transactions.init_producer(APP, timeout_ms=60_000))

        assert again.error is ErrorCode.CONCURRENT_TRANSACTIONS
        assert scene.leader_of(TOPIC).log.log_end_offset == 1, "there is one marker"
        sender.log.configure(sender.usual)
        await scene.until(lambda: scene.transaction.state.is_idle)
        assert scene.ids is ids, "it was not loaded again"

    run_simulated(1, story)
