"""Leaders that change at the wrong moment: while logs have parted, while metadata is behind, while replicas are few."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import TypeVar

from penstock.cluster.replica import Replica
from penstock.testing.simulation.cluster.checkers.records import PartitionName
from penstock.testing.simulation.cluster.clients.admin import Admin
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.clients.settings import SettingsAdmin
from penstock.testing.simulation.cluster.machine import PORT, Ending, Machine
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
from penstock.testing.simulation.nodes import CLIENT

T = TypeVar("T")
_ANSWER_S_MAX = 0.5
_FILLERS_MAX = 20
_CHECKPOINT_CHANCE = 0.8
_LOOKS = 50
_HOLD_CLIENTS_CHANCE = 0.8


class ElectionFaults:
    def __init__(
        self,
        loop: SimulatedLoop,
        machines: Sequence[Machine],
        random: Random,
        client: Client,
    ) -> None:
        self._loop = loop
        self._machines = machines
        self._random = random
        self._history = client.history
        self._client = client
        self._admins: dict[str, Admin] = {}
        self._settings = SettingsAdmin(client)
        self.kinds: list[tuple[Callable[[Machine], Awaitable[None]], int]] = [
            (self._flip_leader, 7),
            (self._strand, 4),
            (self._crash_in_turn, 4),
        ]

    async def _flip_leader(self, _machine: Machine) -> None:
        """Elect another leader while this one has records that nobody else has, and this one again while it cuts them.

        The checkpoint that a cut waits for takes long: the cut goes on when the node leads, or when it follows anew.
        """
        controller = self._controller()
        partitions = self._random.choice(
            [PARTITIONS[GOSSIP], PARTITIONS[GOSSIP], PARTITIONS[ORDERS], INTERNAL]
        )
        in_sync = self._in_sync(controller, partitions)
        if len(in_sync) < 2:
            partitions = partitions[:1]
            in_sync = self._in_sync(controller, partitions)
        first = next((each for each in in_sync if each is not controller), None)
        second = next((each for each in in_sync if each is not first), None)
        if first is None or second is None or not await self._lead(controller, partitions, first):
            return
        names = [each.name for each in self._machines if each is not first]
        self._loop.network.isolate([first.name], names)
        await self._becomes(lambda: all(_has_more(first, each) for each in partitions))
        parted = [each for each in partitions if _has_more(first, each)]
        if parted and self._random.random() < _CHECKPOINT_CHANCE:  # so that the cut has to wait for the disk
            await self._in_time(first.checkpoint())
        await self._lead(controller, parted, second)
        is_done = self._loop.slow_checkpoints[first.name] = asyncio.Event()
        try:
            self._loop.network.mend([first.name], names)
            self._loop.retry_connections(first.name)
            cut = (
                await self._in_time(self._history.replicas.next_truncation(first.node_id)) if parted else None
            )
            if cut is not None:
                await self._lead_by_turns(controller, parted, cut, (first, second))
        finally:
            del self._loop.slow_checkpoints[first.name]
            is_done.set()

    async def _lead_by_turns(
        self,
        controller: Machine,
        partitions: Sequence[PartitionName],
        cut: PartitionName,
        leaders: tuple[Machine, Machine],
    ) -> None:
        """The first of two leads the partition that it cuts, or those that it has yet to cut; then the second again.

        By then what the first was to cut may be committed.
        """
        behind = [each for each in partitions if each != cut] or [cut]
        chosen = self._random.choice([[cut], behind, behind, list(partitions)])
        for leader in self._random.choice([leaders[:1], leaders, leaders, leaders * 2]):
            await self._lead(controller, chosen, leader)
            await self._follow(leaders[leader is leaders[0]], chosen)
            if self._random.random() < 0.7:
                await self._commit(leader, chosen)
            else:
                await asyncio.sleep(self._random.uniform(0, 0.2))

    async def _follow(self, follower: Machine, partitions: Sequence[PartitionName]) -> None:
        """Wait until a node knows that it does not lead."""
        await self._becomes(lambda: not any(_leads(follower, each) for each in partitions))

    async def _commit(self, leader: Machine, partitions: Sequence[PartitionName]) -> None:
        """Wait until all that a leader has is committed."""
        await self._becomes(lambda: not any(_has_more(leader, each) for each in partitions))

    def _in_sync(self, controller: Machine, partitions: Sequence[PartitionName]) -> list[Machine]:
        """Who may lead all these, in any order."""
        image = None if controller.broker is None else controller.broker.services.controller.image
        found = set(self._machines)
        for each in partitions:
            known = None if image is None else image.partition(*each)
            found &= {self._machines[node_id - 1] for node_id in (() if known is None else known.isr)}
        able = [each for each in self._machines if each in found and each.is_serving]
        return self._random.sample(able, len(able))

    async def _lead(self, controller: Machine, partitions: Sequence[PartitionName], to: Machine) -> bool:
        """Have a node lead partitions, and wait until it knows."""
        await self._hand_over(controller, partitions, to)
        return await self._becomes(lambda: all(_leads(to, each) for each in partitions))

    async def _becomes(self, is_so: Callable[[], bool]) -> bool:
        for _ in range(_LOOKS):
            if is_so():
                return True
            await asyncio.sleep(_ANSWER_S_MAX / _LOOKS)
        return False

    async def _hand_over(self, asked: Machine, partitions: Sequence[PartitionName], to: Machine) -> None:
        if asked.broker is None:
            return
        image = asked.broker.services.controller.image
        known = {each: image.partition(*each) for each in partitions}
        replicas = {name: state.replicas for name, state in known.items() if state is not None}
        await self._in_time(self._admin_at(asked).hand_over(replicas, to.node_id))

    async def _in_time(self, asking: Awaitable[T]) -> T | None:
        """Nobody waits for who does not answer: the moment would pass."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_S_MAX):
                return await asking
        return None

    def _admin_at(self, machine: Machine) -> Admin:
        admin = self._admins.get(machine.name)
        if admin is None:
            client = self._client.only_at((machine.name, PORT))
            node_ids = [each.node_id for each in self._machines]
            admin = self._admins[machine.name] = Admin(client, node_ids, INTERNAL, name=machine.name)
        return admin

    async def _strand(self, machine: Machine) -> None:
        """Cut a node off from who leads the quorum until a snapshot has to bring it up to date.

        That has much to tell: among it, that others lead what this node leads. Its followers see it all the time. What
        clients send it mostly arrives when it hears of that, and finds coordinators none of whose writes is under way.
        """
        controller = self._controller()
        if machine is controller:
            machine = self._random.choice([each for each in self._machines if each is not controller])
        if not (machine.is_serving and controller.is_serving):
            return
        admin = self._admin_at(controller)
        await self._lead(controller, INTERNAL, machine)
        await asyncio.sleep(self._random.uniform(0.05, 0.5))
        if self._random.random() < _HOLD_CLIENTS_CHANCE:
            self._loop.network.isolate([machine.name], [CLIENT])
            await self._commit(
                machine, INTERNAL
            )  # without the controller, which follows, nothing would be committed
        self._loop.network.isolate([machine.name], [controller.name])
        await self._in_time(admin.grow())
        second = self._random.choice([each for each in self._machines if each is not machine])
        await self._hand_over(controller, INTERNAL, second)
        behind, offset = _known_offset(machine), _known_offset(controller)
        for _ in range(_FILLERS_MAX):
            if _has_dropped(controller, behind, offset):
                break
            await self._in_time(self._settings.fill(admin.client))
        self._loop.network.mend([machine.name], [controller.name])
        self._loop.retry_connections(machine.name)
        await self._in_time(self._history.metadata.next_install(machine.name))
        await self._follow(machine, INTERNAL)  # what comes before that would be under way when it follows
        self._loop.network.mend([machine.name], [CLIENT])
        self._loop.retry_connections(machine.name)

    async def _crash_in_turn(self, machine: Machine) -> None:
        """Crash the replicas of a partition one by one, its leader last, and start them as they went.

        An administrator sees that writers wait for replicas that are gone, and lets them write with what is left.
        """
        partition = self._random.choice([*PARTITIONS[PAIR] * 3, *PARTITIONS[RELAXED], *PARTITIONS[LEDGER]])
        if self._leader_of(partition, machine) is None:
            partition = PARTITIONS[LEDGER][0]
        leader = self._leader_of(partition, machine)
        if leader is None or machine.broker is None:
            return
        known = machine.broker.services.controller.image.partition(*partition)
        replicas = [] if known is None else [self._machines[each - 1] for each in known.replicas]
        for each in replicas:
            if each is not leader:
                await self._end(each)
                await asyncio.sleep(self._random.uniform(0.2, 2.5))
        if self._random.random() < 0.7:
            for count in self._random.choice([(1,), (1, 2)]):
                await self._in_time(self._settings.set_min_isr(partition[0], count))
                await asyncio.sleep(self._random.uniform(0.2, 0.8))
        await self._end(leader)

    async def _end(self, machine: Machine) -> None:
        if machine.broker is not None:
            await machine.end(self._random.choice([Ending.POWER_CUT, Ending.KILLED, Ending.STOPPED]))
            self._start_later(machine, self._random.uniform(3, 5))

    def _start_later(self, machine: Machine, delay_s: float) -> None:
        def start() -> None:
            if machine.broker is None:
                machine.start()

        self._loop.call_later(delay_s, start)

    def _controller(self) -> Machine:
        leaders = self._history.metadata.leaders
        return self._machines[leaders[max(leaders)] - 1]

    def _leader_of(self, partition: PartitionName, machine: Machine) -> Machine | None:
        """Who leads it, as `machine` has it."""
        if machine.broker is None or not machine.is_serving:
            return None
        known = machine.broker.services.controller.image.partition(*partition)
        return None if known is None or known.leader < 0 else self._machines[known.leader - 1]


def _replica(machine: Machine, partition: PartitionName) -> Replica | None:
    return None if machine.broker is None else machine.broker.services.replicas.get(*partition)


def _leads(machine: Machine, partition: PartitionName) -> bool:
    replica = _replica(machine, partition)
    return replica is not None and replica.is_leader


def _has_more(machine: Machine, partition: PartitionName) -> bool:
    """Whether a node has records of a partition that are not committed."""
    replica = _replica(machine, partition)
    return replica is not None and replica.is_open and replica.log.log_end_offset > replica.high_watermark


def _known_offset(machine: Machine) -> int:
    return -1 if machine.broker is None else machine.broker.services.controller.image.offset


def _has_dropped(machine: Machine, behind: int, offset: int) -> bool:
    """Whether a node no longer has the records that follow `behind`, but a snapshot of all up to `offset`."""
    if machine.broker is None or not machine.is_serving:  # it has no part in the quorum before
        return True
    shape = machine.broker.services.quorum.driver.node.log
    latest = shape.latest_snapshot
    return latest is not None and latest.offset > offset and shape.start_offset > behind + 1
