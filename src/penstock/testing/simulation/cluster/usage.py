"""Everybody who uses a simulated cluster: they begin when it is there, and end when nothing fails any more."""

import asyncio
from random import Random

from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.clients.crowd import crowd
from penstock.testing.simulation.cluster.clients.member import GroupOfConsumers
from penstock.testing.simulation.cluster.clients.offsets import Clerk, limit_batches
from penstock.testing.simulation.cluster.clients.producer import CarelessProducer, Producer
from penstock.testing.simulation.cluster.clients.pruner import Pruner
from penstock.testing.simulation.cluster.clients.reader import Reader
from penstock.testing.simulation.cluster.clients.share_member import ShareGroup, Sharing
from penstock.testing.simulation.cluster.clients.transaction_offsets import OffsetsOfGroup
from penstock.testing.simulation.cluster.clients.transactional import TransactionalProducer
from penstock.testing.simulation.cluster.plan import (
    BOOKKEEPERS,
    CLERKS,
    DRAFTS,
    GOSSIP,
    GROUP,
    INTERNAL,
    JOURNAL,
    LEDGER,
    MAIN,
    ORDERS,
    PARTITIONS,
    REBALANCE_MS,
    SHARE_GROUP,
    SOLO,
)
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.nodes import CLIENT
from penstock.testing.simulation.raft.checker import Violation

_VERSION_2_CHANCES = (0.1, 0.9)
"""Of two transactional producers: each changes its version now and then."""


class Usage:
    def __init__(self, loop: SimulatedLoop, client: Client, node_ids: list[int], random: Random) -> None:
        self._loop = loop
        self._random = random
        self._client = client
        self._writing: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []
        history = client.history
        movable = [each for name in MAIN for each in PARTITIONS[name]] + INTERNAL
        self.admin = Admin(client, node_ids, movable, PARTITIONS[DRAFTS][0])
        everything = [each for name in MAIN for each in PARTITIONS[name]]
        writing = client.another()  # a large batch holds back what follows it on its connection
        self.producers = [Producer(writing, each) for each in PARTITIONS[ORDERS]]
        self.crowd = crowd(client, PARTITIONS[SOLO][0])
        self.clerk = Clerk(client, CLERKS, everything)
        self.offsets = [OffsetsOfGroup(client, f"auditors {number}", everything) for number in range(2)]
        self.transactional = [
            TransactionalProducer(
                client,
                f"t{number}",
                PARTITIONS[LEDGER] + PARTITIONS[JOURNAL],
                version_2_chance=chance,
                offsets=self.offsets[number],
            )
            for number, chance in enumerate(_VERSION_2_CHANCES)
        ]
        self.pruner = Pruner(client, PARTITIONS[JOURNAL][0])
        self.careless = [CarelessProducer(client, each) for each in PARTITIONS[GOSSIP] + PARTITIONS[DRAFTS]]
        self.group = GroupOfConsumers(client.another(), GROUP, ORDERS, REBALANCE_MS)
        self.shares = ShareGroup(
            client.another(),
            Sharing(group=SHARE_GROUP, topic=ORDERS, checker=history.shares, note=history.records.reads),
        )
        self.committed_shares = ShareGroup(
            client.another(),
            Sharing(
                group=BOOKKEEPERS,
                topic=LEDGER,
                checker=history.committed_shares,
                note=history.transactions.reads,
            ),
            share_isolation_level="read_committed",
        )
        rack = f"rack-{random.choice(node_ids)}"
        self.readers = [
            Reader(client, each, history.records.reads, rack=rack)
            for each in (PARTITIONS[ORDERS][0], *PARTITIONS[GOSSIP], *PARTITIONS[DRAFTS], *PARTITIONS[SOLO])
        ] + [
            Reader(
                client,
                each,
                history.transactions.reads,
                is_committed_only=True,
                passed=history.transactions.passes,
            )
            for each in PARTITIONS[LEDGER] + PARTITIONS[JOURNAL]
        ]

    async def create_topics(self) -> None:
        """After the settings of groups: a broker that leads a partition of theirs then knows where they begin."""
        for group in (self.shares, self.committed_shares):
            while not await group.set_up():
                await self._client.rest()
        for name in MAIN:
            await self.admin.create_by_plan(name)
        while not await limit_batches(self._client, CLERKS):
            await self._client.rest()

    def begin(self) -> None:
        run = self._loop.run_on
        self._writing = [run(CLIENT, each.run(0.35)) for each in self.producers]
        self._writing += [run(CLIENT, each.run(0.4)) for each in self.transactional]
        self._writing += [run(CLIENT, each.run(0.8)) for each in self.crowd]
        self._others = [run(CLIENT, each.run(0.3)) for each in self.careless]
        self._others += [run(CLIENT, each.run()) for each in self.readers]
        self._others.append(run(CLIENT, self.admin.run(1.0)))
        self._others.append(run(CLIENT, self.clerk.run(1.0)))
        self._others.append(run(CLIENT, self.pruner.run(1.5)))
        self._others.append(run(CLIENT, self.group.run(self._random.randint(1, 3))))
        self._others.append(run(CLIENT, self.shares.run(self._random.randint(1, 3))))
        self._others.append(run(CLIENT, self.committed_shares.run(self._random.randint(1, 2))))

    async def end(self, within_s: float) -> None:
        """Let all writers finish what they are at; the others just end. Raises `Violation` when they cannot."""
        writers: list[Producer | TransactionalProducer] = [*self.producers, *self.transactional, *self.crowd]
        for each in writers:
            each.is_stopping = True
        await asyncio.wait(self._writing, timeout=within_s)
        self._client.history.check()
        if stuck := [each for each in writers if not each.has_stopped]:
            raise Violation("liveness", f"{type(stuck[0]).__name__} does not get on: {stuck[0].refusal}")
        await self._deliver_all(within_s)
        ending = [*self._others, *self.group.members, *self.shares.members, *self.committed_shares.members]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _deliver_all(self, within_s: float) -> None:
        """Wait until the share groups were given every record."""
        deadline_s = self._loop.time() + within_s
        while (lack := self._not_delivered()) is not None:
            self._client.history.check()
            if self._loop.time() > deadline_s:
                raise Violation("liveness", f"a share group is not given {lack}")
            await asyncio.sleep(0.2)

    def _not_delivered(self) -> str | None:
        history = self._client.history
        for partition in PARTITIONS[ORDERS]:
            stored = history.records.acknowledged.get(partition, ())
            if left_out := history.shares.left_out(partition, stored):
                return f"{left_out} of {partition}"
        for partition in PARTITIONS[LEDGER]:
            committed = history.transactions.committed(partition)
            if left_out := history.committed_shares.left_out(partition, committed):
                return f"{left_out} of {partition}"
        return None

    def steady(self) -> None:
        """Nobody leaves a group any more."""
        self.group.is_steady = self.shares.is_steady = self.committed_shares.is_steady = True
