"""A node outside the cluster, without its secret: it sends requests that only brokers may send."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from penstock_simulation.cluster.clients.client import Client, NoAnswer
from penstock_simulation.cluster.forgeries import HOSTILE, PORT, Forger, Forgery
from penstock_simulation.cluster.history import History
from penstock_simulation.cluster.machine import PORT as BROKER_PORT
from penstock_simulation.cluster.machine import Machine
from penstock_simulation.loop import SimulatedLoop

_INTERVAL_S = 0.4


class HostileNode:
    def __init__(
        self, loop: SimulatedLoop, machines: Sequence[Machine], client: Client, random: Random
    ) -> None:
        self._loop = loop
        self._machines = machines
        self._client = client
        self._history = client.history
        self._random = random
        self._forger = Forger(random)
        self._attacking: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._attacking = self._loop.run_on(HOSTILE, self._attack())

    async def end(self) -> None:
        """Stop sending, and check that no forged request had an effect. See `History.check`."""
        if self._attacking is not None:
            self._attacking.cancel()
            await asyncio.gather(self._attacking, return_exceptions=True)
        members = {each.node_id for each in self._machines}
        for machine in self._machines:
            self._check(machine, members)

    async def _attack(self) -> None:
        trap = await self._loop.create_server(lambda: _Trap(self._history), HOSTILE, PORT)
        try:
            while True:
                await asyncio.sleep(self._random.expovariate(1 / _INTERVAL_S))
                machine = self._random.choice(self._machines)
                if machine.broker is not None and machine.is_serving:
                    await self._send(machine, self._forger.forge(machine.broker))
        finally:
            trap.close()

    async def _send(self, machine: Machine, forgery: Forgery) -> None:
        broker = machine.broker
        try:
            response = await self._client.call(
                (machine.name, BROKER_PORT), (forgery.key, forgery.version), forgery.request
            )
        except NoAnswer:
            return
        checker = self._history.strangers
        if forgery.is_for_brokers:
            checker.on_broker_api_answer(forgery.key, forgery.request, response)
        elif machine.broker is broker:  # else it has stopped meanwhile, and may be unregistered
            checker.on_admin_api_answer(forgery.key, forgery.request, response)

    def _check(self, machine: Machine, members: set[int]) -> None:
        if machine.broker is None or not machine.is_serving:
            return
        services, checker = machine.broker.services, self._history.strangers
        image = services.controller.image
        known: Mapping[str, Iterable[int]] = {
            "brokers": image.brokers,
            "registered controllers": image.controllers,
            "voters": services.quorum.driver.node.voters.ids,
            "controllers": self._history.metadata.leaders.values(),
        }
        for kind, ids in known.items():
            if strange := set(ids) - members:
                checker.fail(f"{machine.name} has unknown {kind} {strange}")
        if topics := [each for each in image.topics if each.startswith(HOSTILE)]:
            checker.fail(f"{machine.name} has topics {topics} of a hostile node")


class _Trap(asyncio.Protocol):
    """Listens where forged requests claim that a broker is."""

    def __init__(self, history: History) -> None:
        self._history = history

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._history.strangers.on_connection(str(transport.get_extra_info("peername")))
