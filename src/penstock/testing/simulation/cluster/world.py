"""One run: a cluster forms, clients use it, faults come and go, all is healed, and everything is looked through."""

import asyncio
import logging
from typing import Final

from penstock.testing.simulation.broker import SimulatedClock, run_simulated
from penstock.testing.simulation.cluster.clients import Admin, Client, Producer, Reader
from penstock.testing.simulation.cluster.faults import Faults
from penstock.testing.simulation.cluster.healing import HEALED_S_MAX, Healing
from penstock.testing.simulation.cluster.history import History
from penstock.testing.simulation.cluster.machine import PORT, Machine
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.network import Weather
from penstock.testing.simulation.nodes import CLIENT
from penstock.testing.simulation.raft.checker import Violation
from penstock.testing.simulation.seeds import randomness

_TOPIC: Final = "orders"
_PARTITION_COUNT = 3
_REPLICATION_FACTOR = 3
_FORMING_S_MAX = 60.0
_SETTINGS = (
    "log.cleaner.enable=false",
    "log.segment.bytes=4096",
    "metadata.log.max.record.bytes.between.snapshots=6000",
    "num.partitions=1",
    "replica.lag.time.max.ms=1000",
    "replica.socket.timeout.ms=3000",
)


class SimulatedCluster:
    def __init__(self, loop: SimulatedLoop, seed: int, *, fault_count: int = 8) -> None:
        self.loop = loop
        self.history = History()
        self.random = randomness(seed, "cluster")
        self.fault_count = fault_count
        node_count = 5 if seed % 5 == 4 else 3
        self.machines = [Machine(loop, seed, number + 1, _SETTINGS) for number in range(node_count)]
        self.client = Client(
            [(each.name, PORT) for each in self.machines],
            self.history,
            randomness(seed, "clients"),
            SimulatedClock(loop),
        )
        self.partitions = [(_TOPIC, number) for number in range(_PARTITION_COUNT)]
        self.faults = Faults(loop, self.machines, self.random)

    async def run(self) -> None:
        """Raises `Violation`."""
        with self.history.watching():
            await self._form()
            producers = [Producer(self.client, each) for each in self.partitions]
            readers = [Reader(self.client, each) for each in self.partitions]
            admin = Admin(self.client, _REPLICATION_FACTOR)
            writing = [self.loop.run_on(CLIENT, each.run(0.08)) for each in producers]
            others = [self.loop.run_on(CLIENT, each.run()) for each in readers]
            others.append(self.loop.run_on(CLIENT, admin.run(4)))
            for _ in range(self.fault_count):
                await asyncio.sleep(self.random.uniform(0.1, 3))
                await self.faults.disturb()
                self.history.check()
            await self.faults.heal()
            await asyncio.sleep(1)
            for each in producers:
                each.is_stopping = True
            await asyncio.wait(writing, timeout=HEALED_S_MAX)
            self.history.check()
            if stuck := [each for each in producers if not each.has_stopped]:
                raise Violation("liveness", f"a record is not acknowledged: {stuck[0].refusal}")
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            healing = Healing(self.loop, self.machines, self.history, self.client, self.partitions)
            await healing.check()
            self.history.check()

    async def _form(self) -> None:
        first, *others = self.machines
        try:
            async with asyncio.timeout(_FORMING_S_MAX):
                await first.start()
                for each in others:
                    await each.start(((first.name, PORT),))
                admin = Admin(self.client, _REPLICATION_FACTOR)
                while not await admin.create(_TOPIC, _PARTITION_COUNT):
                    await self.client.rest()
        except TimeoutError:
            raise Violation("liveness", f"no cluster was formed in {_FORMING_S_MAX} s") from None


def run_cluster(seed: int, *, fault_count: int = 8) -> SimulatedCluster:
    """Run one seed. Raises `Violation`, or whatever else goes wrong."""

    async def run(loop: SimulatedLoop) -> SimulatedCluster:
        cluster = SimulatedCluster(loop, seed, fault_count=fault_count)
        await cluster.run()
        return cluster

    is_rough = seed % 4 == 1
    weather = Weather(
        slow_chance=0.02 if seed % 3 else 0.0,
        slow_ms_max=300,
        loss_chance=0.01 if is_rough else 0.0,
        break_chance=0.002 if is_rough else 0.0,
    )
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)  # failing disks and lost leaders are what this is about
    try:
        cluster, _ = run_simulated(seed, run, weather)
    finally:
        logging.disable(before)
    return cluster
