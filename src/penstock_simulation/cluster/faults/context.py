"""The cluster that faults are injected into."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Final

from penstock_simulation.cluster.clients.client import Client
from penstock_simulation.cluster.machine import Machine
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.loop import SimulatedLoop

Kind = Callable[[Machine], Awaitable[None]]
"""Injects a fault, into this machine if the fault concerns one."""
WeightedKinds = Sequence[tuple[Kind, int]]
_POLLS_MAX: Final = 500
_POLL_S: Final = 0.001


class FaultContext:
    def __init__(
        self, loop: SimulatedLoop, machines: Sequence[Machine], random: Random, client: Client
    ) -> None:
        self.loop = loop
        self.network = loop.network
        self.machines = machines
        self.random = random
        self.client = client
        self.history = client.history
        self.is_over = False
        """Set when the cluster is to recover."""

    def names_except(self, *machines: Machine) -> list[str]:
        return [each.name for each in self.machines if each not in machines]

    def leader_of(self, partition: PartitionName, machine: Machine) -> Machine | None:
        """Return the leader of a partition by the metadata of a machine."""
        known = None if machine.image is None else machine.image.partition(*partition)
        return None if known is None or known.leader < 0 else self.machines[known.leader - 1]

    def controller(self) -> Machine:
        leaders = self.history.metadata.leaders
        return self.machines[leaders[max(leaders)] - 1]

    async def wait_until(self, condition: Callable[[], bool], poll_s: float = _POLL_S) -> bool:
        """Wait for a condition for at most half a second of polls; return whether it holds."""
        for _ in range(round(_POLLS_MAX * _POLL_S / poll_s)):
            if condition():
                return True
            await asyncio.sleep(poll_s)
        return False
