"""One run: a cluster forms, clients use it, faults come and go, all is healed, and everything is looked through."""

import asyncio
import logging
from collections.abc import Iterable

from penstock.testing.simulation.broker import SimulatedClock, run_simulated
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.faults import Faults
from penstock.testing.simulation.cluster.healing import HEALED_S_MAX, Healing
from penstock.testing.simulation.cluster.history import History
from penstock.testing.simulation.cluster.hostile import HostileNode
from penstock.testing.simulation.cluster.losses import Losses
from penstock.testing.simulation.cluster.machine import PORT, Machine
from penstock.testing.simulation.cluster.pauses import pausing
from penstock.testing.simulation.cluster.plan import (
    DRAFTS,
    FLEETING,
    REBALANCE_MS,
    RELAXED,
    RENEWED,
    SESSION_MS,
    settings_of,
    side_of,
    slow_work_chance_of,
    weather_of,
)
from penstock.testing.simulation.cluster.scale import scaled_down
from penstock.testing.simulation.cluster.side_usage import SideUsage
from penstock.testing.simulation.cluster.usage import Usage
from penstock.testing.simulation.cluster.watching import watching
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.raft.checker import Violation
from penstock.testing.simulation.seeds import randomness

_FORMING_S_MAX = 60.0
_STEADY_S = 1.0


class SimulatedCluster:
    def __init__(
        self, loop: SimulatedLoop, seed: int, *, fault_count: int = 8, only: Iterable[str] = ()
    ) -> None:
        """`only` names the faults that may come; see `Faults`."""
        self.loop = loop
        self.history = History(SESSION_MS / 1000, REBALANCE_MS / 1000, is_leader=self._is_leader)
        self.history.excuse(DRAFTS)
        self.history.forgive(RELAXED)
        self.history.forgive(RENEWED)
        self.history.replicas.deletable.add(FLEETING)
        self.random = randomness(seed, "cluster")
        self.fault_count = fault_count
        self.slow_work_chance = slow_work_chance_of(seed)
        node_count = 5 if seed % 5 == 4 else 3
        self.machines = [Machine(loop, seed, number + 1, settings_of(seed)) for number in range(node_count)]
        self.client = Client(
            [(each.name, PORT) for each in self.machines],
            self.history,
            randomness(seed, "clients"),
            SimulatedClock(loop),
        )
        self.usage = Usage(loop, self.client, [each.node_id for each in self.machines], self.random)
        self.side_usage = SideUsage(loop, self.client, self.usage.admin, side_of(seed))
        self.hostile = HostileNode(loop, self.machines, self.client.another(), randomness(seed, "hostile"))
        self.faults = Faults(loop, self.machines, self.random, self.client, only=only)
        self.losses = Losses(self.machines, self.history.replicas, [RELAXED])

    async def run(self) -> None:
        """Raises `Violation`."""
        with watching(self.history, self.faults.voted), pausing(self.loop), scaled_down():
            await self._form()
            self.loop.slow_work_chance = self.slow_work_chance
            self.usage.begin()
            self.side_usage.begin()
            self.hostile.begin()
            for _ in range(self.fault_count):
                await asyncio.sleep(self.random.uniform(0.1, 2))
                await self.faults.disturb()
                self.history.check()
            await self.faults.heal()
            self.loop.slow_work_chance = 0.0
            self.usage.steady()
            await self._settle_settings()
            await asyncio.sleep(_STEADY_S)
            healing = Healing(self.loop, self.machines, self.client, self.side_usage.topics)
            await healing.settle(self.usage)
            await self.hostile.end()
            await self.usage.end(HEALED_S_MAX)
            await self.side_usage.end(HEALED_S_MAX)
            await healing.check(self.usage)
            self.history.check()

    def _is_leader(self, partition: PartitionName, host: str) -> bool:
        images = [
            each.broker.services.controller.image for each in self.machines if each.is_serving and each.broker
        ]
        newest = max(images, key=lambda each: each.offset, default=None)
        known = None if newest is None else newest.partition(*partition)
        return known is not None and f"node-{known.leader}" == host

    async def _settle_settings(self) -> None:
        try:
            async with asyncio.timeout(HEALED_S_MAX):
                await self.side_usage.settings.settle()
        except TimeoutError:
            raise Violation("liveness", f"no setting was changed within {HEALED_S_MAX} s") from None

    async def _form(self) -> None:
        first, *others = self.machines
        try:
            async with asyncio.timeout(_FORMING_S_MAX):
                await first.start()
                for each in others:
                    await each.start(((first.name, PORT),))
                await self.usage.create_topics()
                await self.side_usage.create_topics()
        except TimeoutError:
            raise Violation("liveness", f"no cluster was formed in {_FORMING_S_MAX} s") from None


def run_cluster(seed: int, *, fault_count: int = 8, only: Iterable[str] = ()) -> SimulatedCluster:
    """Run one seed. Raises `Violation`, or whatever else goes wrong."""

    async def run(loop: SimulatedLoop) -> SimulatedCluster:
        cluster = SimulatedCluster(loop, seed, fault_count=fault_count, only=only)
        await cluster.run()
        return cluster

    before = logging.root.manager.disable
    logging.disable(logging.ERROR)  # failing disks and lost leaders are what this is about
    try:
        cluster, _ = run_simulated(seed, run, weather_of(seed))
    finally:
        logging.disable(before)
    return cluster
