"""All clients of a simulated cluster: they begin when it has formed, and end when no more faults come."""

import asyncio
from collections.abc import Coroutine, Sequence
from random import Random
from typing import Any

from penstock_simulation.cluster import plan
from penstock_simulation.cluster.clients.admin import Admin
from penstock_simulation.cluster.clients.client import Client
from penstock_simulation.cluster.clients.member import ConsumerGroup
from penstock_simulation.cluster.clients.offsets import OffsetCommitter, limit_batches
from penstock_simulation.cluster.clients.producer import LeaderAcksProducer, Producer, concurrent_producers
from penstock_simulation.cluster.clients.reader import Reader, RecordDeleter
from penstock_simulation.cluster.clients.settings import RandomSettingsAdmin
from penstock_simulation.cluster.clients.share_member import ShareGroup, ShareSubscription
from penstock_simulation.cluster.clients.transactional import TransactionalProducer
from penstock_simulation.cluster.clients.transactional_offsets import TransactionalOffsets
from penstock_simulation.cluster.plan import partitions_of
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.network import CLIENT
from penstock_simulation.violation import Violation

_VERSION_2_CHANCES = (0.1, 0.9)
"""Of two transactional producers: each changes its version at times."""


class Workload:
    """`optional` are the topics of this run besides `MAIN`."""

    def __init__(
        self,
        loop: SimulatedLoop,
        client: Client,
        node_ids: list[int],
        random: Random,
        optional: Sequence[str],
    ) -> None:
        self._loop = loop
        self._random = random
        self._client = client
        self.topics = [*plan.MAIN, *optional]
        self._writing: list[asyncio.Task[None]] = []
        self._others: list[asyncio.Task[None]] = []
        history = client.history
        main = partitions_of(*plan.MAIN)
        self.admin = Admin(client, node_ids, [*main, *plan.INTERNAL], partitions_of(plan.UNCLEAN)[0])
        self.settings = RandomSettingsAdmin(client, self.admin, optional)
        self._optional = [name for name in optional if name in (plan.PAIR, plan.EXPIRING)]
        writing, optional_writing = client.another(), client.another()  # a large batch delays later ones
        self._producers = [Producer(writing, each) for each in partitions_of(plan.ORDERS)]
        self._optional_producers = [
            Producer(optional_writing, each) for each in partitions_of(*self._optional)
        ]
        self._concurrent = concurrent_producers(client, partitions_of(plan.SINGLE)[0])
        self.committer = OffsetCommitter(client, plan.COMMIT_GROUP, main)
        self.offsets = [
            TransactionalOffsets(client, f"transactional-{number}", main)
            for number in range(len(_VERSION_2_CHANCES))
        ]
        self._transactional = [
            TransactionalProducer(
                client,
                f"t{number}",
                partitions_of(plan.LEDGER, plan.TRIMMED),
                version_2_chance=chance,
                offsets=self.offsets[number],
            )
            for number, chance in enumerate(_VERSION_2_CHANCES)
        ]
        self.deleter = RecordDeleter(client, partitions_of(plan.TRIMMED)[0])
        self._leader_acks = [
            LeaderAcksProducer(client, each) for each in partitions_of(plan.LEADER_ACKS, plan.UNCLEAN)
        ]
        extra = [name for name in optional if name in (plan.UNSYNCED, plan.RECREATED)]
        self._leader_acks += [
            LeaderAcksProducer(optional_writing, each)
            for each in partitions_of(plan.LEADER_ACKS)[1:] + partitions_of(*extra)
        ]
        self.group = ConsumerGroup(client.another(), plan.GROUP, plan.ORDERS, plan.REBALANCE_MS)
        self._shares = ShareGroup(
            client.another(),
            ShareSubscription(
                group=plan.SHARE_GROUP,
                topic=plan.ORDERS,
                checker=history.shares,
                on_record=history.records.on_read,
            ),
        )
        self._committed_shares = ShareGroup(
            client.another(),
            ShareSubscription(
                group=plan.COMMITTED_SHARE_GROUP,
                topic=plan.LEDGER,
                checker=history.committed_shares,
                on_record=history.transactions.on_read,
            ),
            share_isolation_level="read_committed",
        )
        self._readers = self._make_readers(f"rack-{random.choice(node_ids)}")

    def _make_readers(self, rack: str) -> list[Reader]:
        client, optional_reading = self._client, self._client.another()
        on_read = client.history.records.on_read
        plain = [
            partitions_of(plan.ORDERS)[0],
            *partitions_of(plan.LEADER_ACKS, plan.UNCLEAN, plan.SINGLE),
        ]
        readers = [Reader(client, each, on_read, rack=rack) for each in plain]
        readers += [committed_reader(client, each) for each in partitions_of(plan.LEDGER, plan.TRIMMED)]
        readers += [Reader(optional_reading, each, on_read) for each in partitions_of(*self._optional)]
        return readers

    async def create_topics(self) -> None:
        """Create the topics, after the groups' settings: these say where a group begins to read."""
        for group in (self._shares, self._committed_shares):
            await self._client.retry(group.set_up)
        for name in plan.MAIN:
            await self.admin.create_by_plan(name)
        await self._client.retry(lambda: limit_batches(self._client, plan.COMMIT_GROUP))
        for name in self.topics[len(plan.MAIN) :]:
            await self.admin.create_by_plan(name)
            self.admin.partitions += partitions_of(name)

    def begin(self) -> None:
        run, draw = self._start, self._random.randint
        self._writing = [run(each.run(0.35)) for each in self._producers]
        self._writing += [run(each.run(0.3)) for each in self._optional_producers]
        self._writing += [run(each.run(0.4)) for each in self._transactional]
        self._writing += [run(each.run(0.8)) for each in self._concurrent]
        self._others = [run(each.run(0.25)) for each in self._leader_acks]
        self._others += [run(each.run()) for each in self._readers]
        self._others += [
            run(self.admin.run(1.0)),
            run(self.settings.run(0.7)),
            run(self.committer.run(1.0)),
            run(self.deleter.run(1.5)),
            run(self.group.run(draw(1, 3))),
            run(self._shares.run(draw(1, 3))),
            run(self._committed_shares.run(draw(1, 2))),
        ]

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return self._loop.run_on(CLIENT, work)

    def stabilize_groups(self) -> None:
        """Let no more members leave their groups."""
        self.group.is_stable = self._shares.is_stable = self._committed_shares.is_stable = True

    async def end(self, within_s: float) -> None:
        """Let all producers finish, and cancel the other clients. Raises `Violation` when one cannot finish."""
        writers: list[Producer | TransactionalProducer] = [
            *self._producers,
            *self._optional_producers,
            *self._transactional,
            *self._concurrent,
        ]
        for each in writers:
            each.is_stopping = True
        await asyncio.wait(self._writing, timeout=within_s)
        self._client.history.check()
        if stuck := [each for each in writers if not each.has_stopped]:
            detail = f"{type(stuck[0]).__name__} makes no progress: {stuck[0].last_error}"
            raise Violation("liveness", detail)
        await self._deliver_all(within_s)
        groups = (self.group.members, self._shares.members, self._committed_shares.members)
        ending = [*self._others, *(task for members in groups for task in members)]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def _deliver_all(self, within_s: float) -> None:
        """Wait until the share groups have received every record."""
        deadline_s = self._loop.time() + within_s
        while (missing := self._describe_undelivered()) is not None:
            self._client.history.check()
            if self._loop.time() > deadline_s:
                raise Violation("liveness", f"a share group does not receive {missing}")
            await asyncio.sleep(0.2)

    def _describe_undelivered(self) -> str | None:
        history = self._client.history
        expected = [
            (history.shares, each, list(history.records.acknowledged.get(each, ())))
            for each in partitions_of(plan.ORDERS)
        ] + [
            (history.committed_shares, each, history.transactions.committed_offsets(each))
            for each in partitions_of(plan.LEDGER)
        ]
        for checker, partition, offsets in expected:
            if undelivered := checker.undelivered(partition, offsets):
                return f"{undelivered} of {partition}"
        return None


def committed_reader(client: Client, partition: tuple[str, int]) -> Reader:
    """Return a consumer of committed records."""
    checker = client.history.transactions
    return Reader(client, partition, checker.on_read, is_committed_only=True, on_range=checker.on_range_read)
