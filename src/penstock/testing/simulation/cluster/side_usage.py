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
from penstock.testing.simulation.cluster.plan import (
    FLEETING,
    GOSSIP,
    PAIR,
    PARTITIONS,
    RELAXED,
    RENEWED,
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
        history = client.history
        writing, reading = (
            client.another(),
            client.another(),
        )  # what is lost on a connection holds back all behind it
        self.settings = RestlessAdmin(client, admin, topics)
        self.producers = [Producer(writing, each) for each in self._here(PAIR, FLEETING)]
        self._careless = [
            CarelessProducer(writing, each) for each in PARTITIONS[GOSSIP][1:] + self._here(RELAXED, RENEWED)
        ]
        self._readers: list[Reader] = [
            Reader(reading, each, history.records.reads) for each in self._here(PAIR)
        ]
        self._readers += [
            FleetingReader(reading, each, history.records.reads) for each in self._here(FLEETING)
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
        self._writing = [run(CLIENT, each.run(0.3)) for each in self.producers]
        self._others = [run(CLIENT, each.run(0.2)) for each in self._careless]
        self._others += [run(CLIENT, each.run()) for each in self._readers]
        self._others.append(run(CLIENT, self.settings.run(0.7)))

    async def end(self, within_s: float) -> None:
        """As `Usage.end`."""
        for each in self.producers:
            each.is_stopping = True
        await asyncio.wait(self._writing, timeout=within_s)
        self._client.history.check()
        if stuck := [each for each in self.producers if not each.has_stopped]:
            raise Violation("liveness", f"{type(stuck[0]).__name__} does not get on: {stuck[0].refusal}")
        for task in self._others:
            task.cancel()
        await asyncio.gather(*self._others, return_exceptions=True)
