"""What goes wrong with the network of a simulated cluster; most of it is mended after a while."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from penstock.testing.simulation.cluster.machine import Machine
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.nodes import CLIENT


class NetworkFaults:
    def __init__(self, loop: SimulatedLoop, names: list[str], random: Random) -> None:
        self._loop = loop
        self._names = names
        self._random = random
        self.kinds: list[tuple[Callable[[Machine], Awaitable[None]], int]] = [
            (self._isolate, 3),
            (self._divide, 2),
            (self._cut_one_link, 2),
            (self._cut_one_way, 2),
            (self._deafen, 2),
            (self._slow_down, 2),
            (self._lose_packets, 2),
            (self._break_connections, 2),
            (self._refuse_connections, 2),
            (self._heal_network, 2),
        ]

    async def _isolate(self, machine: Machine) -> None:
        self._part([machine.name], self._others(machine))

    async def _divide(self, _machine: Machine) -> None:
        """Two groups of nodes that see nothing of each other."""
        group = self._random.sample(self._names, self._random.randint(1, len(self._names) - 1))
        self._part(group, [each for each in self._names if each not in group])

    def _part(self, group: list[str], others: list[str]) -> None:
        """Clients may see both."""
        if self._random.random() < 0.5:
            others.append(CLIENT)
        self._loop.network.isolate(group, others)
        self._mend_later(group, others)

    async def _cut_one_link(self, machine: Machine) -> None:
        other = self._random.choice(self._others(machine))
        self._loop.network.isolate([machine.name], [other])
        self._mend_later([machine.name], [other])

    async def _cut_one_way(self, machine: Machine) -> None:
        other = self._random.choice(self._others(machine))
        self._loop.network.cut(machine.name, other)
        self._mend_later([machine.name], [other])

    async def _deafen(self, machine: Machine) -> None:
        """The node hears nobody, or nobody hears it."""
        others = self._others(machine)
        is_deaf = self._random.random() < 0.5
        for other in others:
            self._loop.network.cut(*((other, machine.name) if is_deaf else (machine.name, other)))
        self._mend_later([machine.name], others)

    def _others(self, machine: Machine) -> list[str]:
        return [each for each in self._names if each != machine.name]

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

    async def _refuse_connections(self, machine: Machine) -> None:
        """As if its process had ended: whoever takes it for dead is wrong."""
        self._loop.network.refuse(machine.name)
        if self._random.random() < 0.7:
            self._loop.break_connections(machine.name)
        self._loop.call_later(self._random.uniform(0.2, 6), self._loop.network.accept, machine.name)

    async def _heal_network(self, _machine: Machine) -> None:
        self._loop.network.heal()
