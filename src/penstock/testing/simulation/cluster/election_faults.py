"""Leaders that change at the wrong moment: while logs have parted, while metadata is behind, while replicas are few."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.history import History
from penstock.testing.simulation.cluster.machine import Ending, Machine
from penstock.testing.simulation.cluster.plan import (
    GOSSIP,
    INTERNAL,
    LEDGER,
    ORDERS,
    PAIR,
    PARTITIONS,
    RELAXED,
)
from penstock.testing.simulation.loop import SimulatedLoop

_SLOW_DISK = (20, 200)
_LAGGING_S = (0.3, 0.9)
"""Less than a follower may lag behind before it leaves the in-sync set: it may lead again."""


class ElectionFaults:
    def __init__(
        self,
        loop: SimulatedLoop,
        machines: Sequence[Machine],
        random: Random,
        history: History,
        admin: Admin,
    ) -> None:
        self._loop = loop
        self._machines = machines
        self._random = random
        self._history = history
        self._admin = admin
        self.kinds: list[tuple[Callable[[Machine], Awaitable[None]], int]] = [
            (self._flip_leader, 4),
            (self._strand, 4),
            (self._crash_in_turn, 3),
        ]

    async def _flip_leader(self, machine: Machine) -> None:
        """Elect another leader while this one has records that nobody else has, and this one again while it cuts them.

        Its disk is slow: what it does as a follower may end when it leads, or when it follows anew.
        """
        partitions = self._random.choice(
            [PARTITIONS[GOSSIP], PARTITIONS[GOSSIP], PARTITIONS[ORDERS], INTERNAL]
        )
        leader = self._leader_of(partitions[0], machine)
        if leader is None:
            return
        first, second = leader, self._random.choice([each for each in self._machines if each is not leader])
        others = [each.name for each in self._machines if each is not leader]
        await self._admin.hand_over(partitions, leader.node_id)
        self._loop.network.isolate([leader.name], others)
        await asyncio.sleep(self._random.uniform(*_LAGGING_S))
        await self._admin.hand_over(partitions, second.node_id)
        self._loop.disk_slowness[leader.name] = self._random.uniform(*_SLOW_DISK)
        self._loop.network.mend([leader.name], others)
        for _ in range(self._random.randint(1, 3)):
            await asyncio.sleep(self._random.uniform(0.02, 0.3))
            count = self._random.randint(1, len(partitions))
            await self._admin.hand_over(self._random.sample(partitions, count), first.node_id)
            first, second = second, first
        await asyncio.sleep(self._random.uniform(0, 0.5))
        self._loop.disk_slowness.pop(leader.name, None)

    async def _strand(self, machine: Machine) -> None:
        """Cut a node off from who leads the quorum until a snapshot has to bring it up to date.

        That has much to tell: among it, that others lead what this node leads. Clients and followers see it all the
        time, and elections come at the last moment.
        """
        leaders = self._history.metadata.leaders
        controller = self._machines[leaders[max(leaders)] - 1]
        stranded = self._leader_of(self._random.choice(INTERNAL), machine) or machine
        if stranded is controller:
            return
        far = (
            [each.name for each in self._machines if each is not stranded]
            if self._random.random() < 0.3
            else []
        )
        self._loop.network.isolate([stranded.name], far or [controller.name])
        for _ in range(self._random.randint(2, 4)):
            await self._admin.churn()
        second = self._random.choice([each for each in self._machines if each is not stranded])
        await self._admin.hand_over(INTERNAL, second.node_id)
        self._loop.network.mend([stranded.name], far or [controller.name])
        await asyncio.sleep(self._random.uniform(0, 1))

    async def _crash_in_turn(self, machine: Machine) -> None:
        """Crash the replicas of a partition one by one, its leader last, and start them as they went."""
        partition = self._random.choice([*PARTITIONS[PAIR] * 3, *PARTITIONS[RELAXED], *PARTITIONS[LEDGER]])
        leader = self._leader_of(partition, machine)
        if leader is None or machine.broker is None:
            return
        known = machine.broker.services.controller.image.partition(*partition)
        followers = [] if known is None else [self._machines[each - 1] for each in known.replicas]
        for each in [*(follower for follower in followers if follower is not leader), leader]:
            if each.broker is not None:
                await each.end(self._random.choice([Ending.POWER_CUT, Ending.KILLED, Ending.STOPPED]))
                self._start_later(each, self._random.uniform(4, 7))
            await asyncio.sleep(self._random.uniform(0.2, 4))

    def _start_later(self, machine: Machine, delay_s: float) -> None:
        def start() -> None:
            if machine.broker is None:
                machine.start()

        self._loop.call_later(delay_s, start)

    def _leader_of(self, partition: PartitionName, machine: Machine) -> Machine | None:
        """Who leads it, as `machine` has it."""
        if machine.broker is None or not machine.is_serving:
            return None
        known = machine.broker.services.controller.image.partition(*partition)
        return None if known is None or known.leader < 0 else self._machines[known.leader - 1]
