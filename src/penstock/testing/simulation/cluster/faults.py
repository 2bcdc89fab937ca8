"""What goes wrong in a simulated cluster, one thing after the other, and sometimes several at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from random import Random

from penstock.cluster.raft.values import Election
from penstock.testing.simulation.cluster.machine import Ending, Machine
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.nodes import CLIENT


class Faults:
    def __init__(self, loop: SimulatedLoop, machines: list[Machine], random: Random) -> None:
        self._loop = loop
        self._machines = machines
        self._random = random
        self._kinds: list[tuple[Callable[[Machine], Awaitable[None]], int]] = [
            (self._crash, 5),
            (self._stop, 1),
            (self._crash_several, 2),
            (self._isolate, 3),
            (self._divide, 2),
            (self._cut_one_link, 2),
            (self._cut_one_way, 2),
            (self._deafen, 2),
            (self._slow_down, 2),
            (self._lose_packets, 2),
            (self._break_connections, 2),
            (self._fail_sync, 2),
            (self._heal_network, 2),
        ]
        self._are_over = False
        self.counts: Counter[str] = Counter()

    def voted(self, name: str, election: Election) -> None:
        """A node has written down a vote or an epoch, and is about to say so."""

    async def disturb(self) -> None:
        """Let one thing go wrong."""
        kinds, weights = zip(*self._kinds, strict=True)
        (kind,) = self._random.choices(kinds, weights)
        self.counts[kind.__name__.strip("_")] += 1
        await kind(self._random.choice(self._machines))

    async def heal(self) -> None:
        """No more faults, and everybody is started anew whose disk has failed."""
        self._are_over = True
        self._loop.network.heal()
        for machine in self._machines:
            machine.disk.heal()
            if machine.has_failing_disk and machine.broker is not None:
                await machine.end(Ending.KILLED)
            if machine.broker is None:
                machine.start()

    async def _crash(self, machine: Machine) -> None:
        if machine.broker is None:
            return
        await machine.end(self._random.choice([Ending.POWER_CUT, Ending.POWER_CUT, Ending.KILLED]))
        self._start_later(machine)

    async def _crash_several(self, _machine: Machine) -> None:
        for machine in self._random.sample(self._machines, self._random.randint(2, len(self._machines))):
            await self._crash(machine)
            await asyncio.sleep(self._random.choice([0, 0, self._random.uniform(0, 2)]))

    async def _stop(self, machine: Machine) -> None:
        if machine.is_serving:
            await machine.end(Ending.STOPPED)
            self._start_later(machine)

    def _start_later(self, machine: Machine) -> None:
        def start() -> None:
            if machine.broker is None:
                machine.start()

        self._loop.call_later(self._random.uniform(0.01, 8), start)

    async def _isolate(self, machine: Machine) -> None:
        others = [each.name for each in self._machines if each is not machine]
        if self._random.random() < 0.5:
            others.append(CLIENT)
        self._loop.network.isolate([machine.name], others)
        self._mend_later([machine.name], others)

    async def _cut_one_link(self, machine: Machine) -> None:
        other = self._random.choice([each for each in self._machines if each is not machine])
        self._loop.network.isolate([machine.name], [other.name])
        self._mend_later([machine.name], [other.name])

    async def _cut_one_way(self, machine: Machine) -> None:
        other = self._random.choice([each for each in self._machines if each is not machine])
        self._loop.network.cut(machine.name, other.name)
        self._mend_later([machine.name], [other.name])

    async def _deafen(self, machine: Machine) -> None:
        """The node hears nobody, or nobody hears it."""
        others = [each.name for each in self._machines if each is not machine]
        is_deaf = self._random.random() < 0.5
        for other in others:
            self._loop.network.cut(*((other, machine.name) if is_deaf else (machine.name, other)))
        self._mend_later([machine.name], others)

    async def _divide(self, _machine: Machine) -> None:
        """Two groups of nodes that see nothing of each other; clients may see both."""
        names = [each.name for each in self._machines]
        group = self._random.sample(names, self._random.randint(1, len(names) - 1))
        others = [each for each in names if each not in group]
        if self._random.random() < 0.5:
            others.append(CLIENT)
        self._loop.network.isolate(group, others)
        self._mend_later(group, others)

    def _mend_later(self, group: list[str], others: list[str]) -> None:
        self._loop.call_later(self._random.uniform(0.2, 8), self._loop.network.mend, group, others)

    async def _slow_down(self, machine: Machine) -> None:
        self._loop.network.slow_down(machine.name, self._random.uniform(3, 60))
        self._loop.call_later(self._random.uniform(0.2, 6), self._loop.network.slow_down, machine.name, 1)

    async def _lose_packets(self, machine: Machine) -> None:
        self._loop.network.make_flaky(machine.name, self._random.choice([0.02, 0.1, 0.3]))
        self._loop.call_later(self._random.uniform(0.5, 6), self._loop.network.make_flaky, machine.name, 0.0)

    async def _break_connections(self, machine: Machine) -> None:
        """All at once, several times: what was asked is asked again, whether it had arrived or not."""
        for _ in range(self._random.randint(1, 4)):
            self._loop.break_connections(machine.name)
            await asyncio.sleep(self._random.uniform(0.005, 0.3))

    async def _heal_network(self, _machine: Machine) -> None:
        self._loop.network.heal()

    async def _fail_sync(self, machine: Machine) -> None:
        """A disk that fails once is not trusted again: whoever runs the node restarts it, some time later."""
        part = self._random.choice(["orders", "__cluster_metadata", ""])
        machine.disk.fail("sync", part, times=1)
        machine.has_failing_disk = True
        self._loop.call_later(self._random.uniform(1, 8), self._replace_broker, machine)

    def _replace_broker(self, machine: Machine) -> None:
        if machine.has_failing_disk and machine.broker is not None and not self._are_over:
            self._loop.create_task(self._crash(machine))
