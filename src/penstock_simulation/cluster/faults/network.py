"""Networks that divide, slow down and break; most of them recover after a while."""

import asyncio

from penstock_simulation.cluster.faults.context import FaultContext, WeightedKinds
from penstock_simulation.cluster.machine import Machine
from penstock_simulation.network import CLIENT


class NetworkFaults:
    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._loop = context.loop
        self._network = context.network
        self._random = context.random
        self.kinds: WeightedKinds = (
            (self._isolate, 3),
            (self._divide, 2),
            (self._block_link, 2),
            (self._block_one_way, 2),
            (self._block_inbound_or_outbound, 2),
            (self._slow_network, 2),
            (self._lose_packets, 2),
            (self._break_connections, 2),
            (self._refuse_connections, 2),
            (self._clear_network, 2),
        )

    async def _isolate(self, machine: Machine) -> None:
        self._separate([machine.name], self._context.names_except(machine))

    async def _divide(self, _machine: Machine) -> None:
        """Divide the nodes into two groups."""
        names = self._context.names_except()
        group = self._random.sample(names, self._random.randint(1, len(names) - 1))
        self._separate(group, [each for each in names if each not in group])

    def _separate(self, group: list[str], others: list[str]) -> None:
        """Separate two groups of nodes; clients may reach one or both."""
        if self._random.random() < 0.5:
            others.append(CLIENT)
        self._network.isolate(group, others)
        self._reconnect_later(group, others)

    async def _block_link(self, machine: Machine) -> None:
        other = self._random.choice(self._context.names_except(machine))
        self._network.isolate([machine.name], [other])
        self._reconnect_later([machine.name], [other])

    async def _block_one_way(self, machine: Machine) -> None:
        other = self._random.choice(self._context.names_except(machine))
        self._network.block(machine.name, other)
        self._reconnect_later([machine.name], [other])

    async def _block_inbound_or_outbound(self, machine: Machine) -> None:
        """Block everything that other nodes send to a node, or everything that it sends."""
        others = self._context.names_except(machine)
        is_inbound = self._random.random() < 0.5
        for other in others:
            self._network.block(*((other, machine.name) if is_inbound else (machine.name, other)))
        self._reconnect_later([machine.name], others)

    def _reconnect_later(self, group: list[str], others: list[str]) -> None:
        self._loop.call_later(self._random.uniform(0.2, 8), self._network.reconnect, group, others)

    async def _slow_network(self, machine: Machine) -> None:
        self._network.slow_down(machine.name, self._random.uniform(3, 60))
        self._loop.call_later(self._random.uniform(0.2, 6), self._network.slow_down, machine.name, 1)

    async def _lose_packets(self, machine: Machine) -> None:
        self._network.set_loss_chance(machine.name, self._random.choice([0.02, 0.1, 0.3]))
        delay_s = self._random.uniform(0.5, 6)
        self._loop.call_later(delay_s, self._network.set_loss_chance, machine.name, 0.0)

    async def _break_connections(self, machine: Machine) -> None:
        """Break all connections several times: clients repeat requests that may have arrived."""
        for _ in range(self._random.randint(1, 4)):
            self._loop.break_connections(machine.name)
            await asyncio.sleep(self._random.uniform(0.005, 0.3))

    async def _refuse_connections(self, machine: Machine) -> None:
        """Refuse connections as if the process had ended, although it runs."""
        self._network.refuse_connections(machine.name)
        if self._random.random() < 0.7:
            self._loop.break_connections(machine.name)
        self._loop.call_later(self._random.uniform(0.2, 6), self._network.accept_connections, machine.name)

    async def _clear_network(self, _machine: Machine) -> None:
        self._network.clear_faults()
