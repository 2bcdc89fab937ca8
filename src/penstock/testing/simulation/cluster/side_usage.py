"""Those who use the topics whose settings, records and replicas change more than others', and who changes them."""

import asyncio
from collections.abc import Sequence

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.clients.fleeting import FleetingReader
from penstock.testing.simulation.cluster.clients.producer import CarelessProducer, Producer
from penstock.testing.simulation.cluster.clients.reader import Reader
from penstock.testing.simulation.cluster.clients.settings import RestlessAdmin
from penstock.testing.simulation.cluster.clients.transactional import TransactionalProducer
from penstock.testing.simulation.cluster.history import History
from penstock.testing.simulation.cluster.plan import (
    FLEETING,
    GOSSIP,
    JOURNAL,
    PAIR,
    PARTITIONS,
    REBALANCE_MS,
    RELAXED,
    RENEWED,
    SESSION_MS,
)
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.nodes import CLIENT
from penstock.testing.simulation.raft.checker import Violation


class SideUsage:
    """`topics` are the ones that this run has."""

    def __init__(self, loop: SimulatedLoop, client: Client, admin: Admin, topics: Sequence[str]) -> None:
        self._loop = loop
        self._client = client
        self._admin = admin
        self.topics = topics
        self.settings = RestlessAdmin(client, admin, topics)
        history = client.history
        # Records of its transactions are deleted: only that none is read that was aborted holds of them.
        aside = client.another(History(SESSION_MS / 1000, REBALANCE_MS / 1000, history.verdict))
        self.producers = [Producer(client, each) for each in self._here(PAIR, FLEETING)]
        self.transactional = [
            TransactionalProducer(aside, "journal", [each], is_version_2=client.random.random() < 0.5)
            for each in self._here(JOURNAL)
        ]
        self._careless = [
            CarelessProducer(client, each) for each in PARTITIONS[GOSSIP][1:] + self._here(RELAXED, RENEWED)
        ]
        self._readers: list[Reader] = [
            Reader(client, each, history.records.reads) for each in self._here(PAIR)
        ]
        self._readers += [
            FleetingReader(client, each, history.records.reads) for each in self._here(FLEETING)
        ]
        self._readers += [
            FleetingReader(aside, each, aside.history.transactions.reads, is_committed_only=True)
            for each in self._here(JOURNAL)
        ]
        self._writing: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []

    def _here(self, *names: str) -> list[PartitionName]:
        return [each for name in names if name in self.topics for each in PARTITIONS[name]]

    async def create_topics(self) -> None:
        for name in self.topics:
            await self._admin.create_by_plan(name)
        self._admin.partitions += self._here(*self.topics)

    def begin(self) -> None:
        run = self._loop.run_on
        self._writing = [run(CLIENT, each.run(0.2)) for each in self.producers]
        self._writing += [run(CLIENT, each.run(0.4)) for each in self.transactional]
        self._others = [run(CLIENT, each.run(0.2)) for each in self._careless]
        self._others += [run(CLIENT, each.run()) for each in self._readers]
        self._others.append(run(CLIENT, self.settings.run(0.7)))

    async def end(self, within_s: float) -> None:
        """As `Usage.end`."""
        writers: list[Producer | TransactionalProducer] = [*self.producers, *self.transactional]
        for each in writers:
            each.is_stopping = True
        await asyncio.wait(self._writing, timeout=within_s)
        self._client.history.check()
        if stuck := [each for each in writers if not each.has_stopped]:
            raise Violation("liveness", f"{type(stuck[0]).__name__} does not get on: {stuck[0].refusal}")
        for task in self._others:
            task.cancel()
        await asyncio.gather(*self._others, return_exceptions=True)
