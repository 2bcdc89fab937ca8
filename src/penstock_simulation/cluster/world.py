"""One run: a cluster forms, clients use it, faults come and go, it recovers, and everything is checked."""

import asyncio
import logging
from collections.abc import Iterable

from penstock_simulation.broker import SimulatedClock, run_simulated
from penstock_simulation.cluster import plan
from penstock_simulation.cluster.clients.client import Client
from penstock_simulation.cluster.faults.context import FaultContext
from penstock_simulation.cluster.faults.faults import Faults
from penstock_simulation.cluster.final_checks import RECOVERY_S_MAX, FinalChecks
from penstock_simulation.cluster.history import History
from penstock_simulation.cluster.hooks import hooks
from penstock_simulation.cluster.hostile import HostileNode
from penstock_simulation.cluster.losses import LossDetector
from penstock_simulation.cluster.machine import PORT, Machine
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.cluster.workload import Workload
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.seeds import randomness
from penstock_simulation.violation import Violation

_FORMING_S_MAX = 60.0
_STEADY_S = 1.0


class SimulatedCluster:
    def __init__(
        self, loop: SimulatedLoop, seed: int, *, fault_count: int = 8, only: Iterable[str] = ()
    ) -> None:
        """`only` names the faults that may come; see `Faults`."""
        self.loop = loop
        self.history = history = History(
            plan.SESSION_MS / 1000, plan.REBALANCE_MS / 1000, is_leader=self._is_leader
        )
        history.allow_unclean_elections(plan.UNCLEAN)
        history.records.lossy_topics |= {plan.UNSYNCED, plan.RECREATED}
        history.replicas.retention_topics.add(plan.EXPIRING)
        self.random = randomness(seed, "cluster")
        self.fault_count = fault_count
        self.slow_work_chance = plan.slow_work_chance_of(seed)
        node_count = 5 if seed % 5 == 4 else 3
        settings = plan.settings_of(seed)
        self.machines = [Machine(loop, seed, number + 1, settings) for number in range(node_count)]
        bootstrap = [(each.name, PORT) for each in self.machines]
        self.client = Client(bootstrap, history, randomness(seed, "clients"), SimulatedClock(loop))
        node_ids = [each.node_id for each in self.machines]
        optional = plan.optional_topics_of(seed)
        self.workload = Workload(loop, self.client, node_ids, self.random, optional)
        self.hostile = HostileNode(loop, self.machines, self.client.another(), randomness(seed, "hostile"))
        self.faults = Faults(FaultContext(loop, self.machines, self.random, self.client), only=only)
        LossDetector(self.machines, history.replicas, [plan.UNSYNCED])

    async def run(self) -> None:
        """Raises `Violation`."""
        with hooks(self.loop, self.history, self.faults.on_vote):
            await self._form()
            self.loop.slow_work_chance = self.slow_work_chance
            self.workload.begin()
            self.hostile.begin()
            for _ in range(self.fault_count):
                await asyncio.sleep(self.random.uniform(0.1, 2))
                await self.faults.inject()
                self.history.check()
            await self.faults.clear()
            self.loop.slow_work_chance = 0.0
            self.workload.stabilize_groups()
            await self._restore_settings()
            await asyncio.sleep(_STEADY_S)
            checks = FinalChecks(self.loop, self.machines, self.client, self.workload)
            await checks.wait_for_recovery()
            await self.hostile.end()
            await self.workload.end(RECOVERY_S_MAX)
            await checks.check()
            self.history.check()

    def _is_leader(self, partition: PartitionName, node: str) -> bool:
        images = [each.image for each in self.machines if each.image is not None]
        newest = max(images, key=lambda each: each.offset, default=None)
        known = None if newest is None else newest.partition(*partition)
        return known is not None and f"node-{known.leader}" == node

    async def _restore_settings(self) -> None:
        try:
            async with asyncio.timeout(RECOVERY_S_MAX):
                await self.workload.settings.restore()
        except TimeoutError:
            raise Violation("liveness", f"no setting was changed within {RECOVERY_S_MAX} s") from None

    async def _form(self) -> None:
        first, *others = self.machines
        try:
            async with asyncio.timeout(_FORMING_S_MAX):
                await first.start()
                for each in others:
                    await each.start(((first.name, PORT),))
                await self.workload.create_topics()
        except TimeoutError:
            raise Violation("liveness", f"no cluster was formed within {_FORMING_S_MAX} s") from None


def run_cluster(seed: int, *, fault_count: int = 8, only: Iterable[str] = ()) -> SimulatedCluster:
    """Run one seed. Raises `Violation`, or any other exception of the run."""

    async def run(loop: SimulatedLoop) -> SimulatedCluster:
        cluster = SimulatedCluster(loop, seed, fault_count=fault_count, only=only)
        await cluster.run()
        return cluster

    before = logging.root.manager.disable
    logging.disable(logging.ERROR)  # failing disks and lost leaders are the point of a run
    try:
        cluster, _ = run_simulated(seed, run, plan.conditions_of(seed))
    finally:
        logging.disable(before)
    return cluster
