"""Those who use the topics whose settings, records and replicas change more than others', and who changes them."""

import asyncio

from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.clients.fleeting import FleetingReader
from penstock.testing.simulation.cluster.clients.producer import CarelessProducer, Producer
from penstock.testing.simulation.cluster.clients.reader import Reader
from penstock.testing.simulation.cluster.clients.settings import SettingsAdmin
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
    def __init__(self, loop: SimulatedLoop, client: Client, admin: Admin) -> None:
        self._loop = loop
        self._client = client
        self.settings = SettingsAdmin(client, admin)
        history = client.history
        # Records of its transactions are deleted: only that none is read that was aborted holds of them.
        aside = client.another(History(SESSION_MS / 1000, REBALANCE_MS / 1000, history.verdict))
        self.producers = [Producer(client, each) for each in PARTITIONS[PAIR] + PARTITIONS[FLEETING]]
        self.transactional = TransactionalProducer(
            aside, "journal", PARTITIONS[JOURNAL], is_version_2=client.random.random() < 0.5
        )
        self._careless = [
            CarelessProducer(client, each)
            for each in PARTITIONS[GOSSIP][1:] + PARTITIONS[RELAXED] + PARTITIONS[RENEWED]
        ]
        self._readers: list[Reader] = [
            Reader(client, each, history.records.reads) for each in PARTITIONS[PAIR]
        ]
        self._readers += [
            FleetingReader(client, each, history.records.reads) for each in PARTITIONS[FLEETING]
        ]
        self._readers += [
            FleetingReader(aside, each, aside.history.transactions.reads, is_committed_only=True)
            for each in PARTITIONS[JOURNAL]
        ]
        self._writing: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        run = self._loop.run_on
        self._writing = [run(CLIENT, each.run(0.2)) for each in self.producers]
        self._writing.append(run(CLIENT, self.transactional.run(0.4)))
        self._others = [run(CLIENT, each.run(0.2)) for each in self._careless]
        self._others += [run(CLIENT, each.run()) for each in self._readers]
        self._others.append(run(CLIENT, self.settings.run(0.7)))

    async def end(self, within_s: float) -> None:
        """As `Usage.end`."""
        writers: list[Producer | TransactionalProducer] = [*self.producers, self.transactional]
        for each in writers:
            each.is_stopping = True
        await asyncio.wait(self._writing, timeout=within_s)
        self._client.history.check()
        if stuck := [each for each in writers if not each.has_stopped]:
            raise Violation("liveness", f"{type(stuck[0]).__name__} does not get on: {stuck[0].refusal}")
        for task in self._others:
            task.cancel()
        await asyncio.gather(*self._others, return_exceptions=True)
