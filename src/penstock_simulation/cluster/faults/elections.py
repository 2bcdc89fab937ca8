"""Leaders that change at the worst moments: while logs diverge, metadata lags, or few replicas are left."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from penstock_simulation.cluster import plan
from penstock_simulation.cluster.clients.admin import Admin
from penstock_simulation.cluster.clients.settings import SettingsAdmin
from penstock_simulation.cluster.faults.context import FaultContext, WeightedKinds
from penstock_simulation.cluster.machine import PORT, Ending, Machine
from penstock_simulation.cluster.plan import INTERNAL, PARTITIONS
from penstock_simulation.cluster.values import PartitionName
from penstock_simulation.network import CLIENT

T = TypeVar("T")
_TIMEOUT_S = 0.5
_FILLERS_MAX = 20
_CHECKPOINT_CHANCE = 0.8
_POLL_S = 0.01
_HOLD_CLIENTS_CHANCE = 0.8


class ElectionFaults:
    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._loop = context.loop
        self._network = context.network
        self._random = context.random
        self._admins: dict[str, Admin] = {}
        self._settings = SettingsAdmin(context.client)
        self.kinds: WeightedKinds = (
            (self._elect_during_truncation, 7),
            (self._delay_metadata, 4),
            (self._crash_replicas_in_turn, 4),
        )

    # -- truncation -----------------------------------------------------------------------------------

    async def _elect_during_truncation(self, _machine: Machine) -> None:
        """Replace a leader that has uncommitted records, and elect it again while it truncates them.

        The checkpoint that the truncation waits for takes long: it ends when the node leads, or follows again.
        """
        controller = self._context.controller()
        topic_choices = [plan.LEADER_ACKS, plan.LEADER_ACKS, plan.ORDERS, None]
        topic = self._random.choice(topic_choices)
        partitions = INTERNAL if topic is None else PARTITIONS[topic]
        in_sync = self._in_sync(controller, partitions)
        if len(in_sync) < 2:
            partitions = partitions[:1]
            in_sync = self._in_sync(controller, partitions)
        first = next((each for each in in_sync if each is not controller), None)
        second = next((each for each in in_sync if each is not first), None)
        if first is None or second is None or not await self._lead(controller, partitions, first):
            return
        names = self._context.names_except(first)
        self._network.isolate([first.name], names)
        await self._wait(lambda: all(_has_uncommitted(first, each) for each in partitions))
        diverged = [each for each in partitions if _has_uncommitted(first, each)]
        if (
            diverged and self._random.random() < _CHECKPOINT_CHANCE
        ):  # so that the truncation waits for the disk
            await self._in_time(first.checkpoint())
        await self._lead(controller, diverged, second)
        is_done = self._loop.slow_checkpoints[first.name] = asyncio.Event()
        try:
            self._network.reconnect([first.name], names)
            self._loop.retry_connections(first.name)
            checker = self._context.history.replicas
            truncated = (
                await self._in_time(checker.divergence_waiters.next(first.node_id)) if diverged else None
            )
            if truncated is not None:
                await self._lead_by_turns(controller, diverged, truncated, (first, second))
        finally:
            del self._loop.slow_checkpoints[first.name]
            is_done.set()

    async def _lead_by_turns(
        self,
        controller: Machine,
        partitions: Sequence[PartitionName],
        truncated: PartitionName,
        leaders: tuple[Machine, Machine],
    ) -> None:
        """Let the first of two nodes lead the partition that it truncates, or others; then the second again.

        By then the records that the first was to truncate may be committed.
        """
        waiting = [each for each in partitions if each != truncated] or [truncated]
        chosen = self._random.choice([[truncated], waiting, waiting, list(partitions)])
        for leader in self._random.choice([leaders[:1], leaders, leaders, leaders * 2]):
            await self._lead(controller, chosen, leader)
            await self._follow(leaders[leader is leaders[0]], chosen)
            if self._random.random() < 0.7:
                await self._commit(leader, chosen)
            else:
                await asyncio.sleep(self._random.uniform(0, 0.2))

    # -- metadata -------------------------------------------------------------------------------------

    async def _delay_metadata(self, machine: Machine) -> None:
        """Isolate a node from the controller until only a snapshot can bring it up to date.

        The snapshot contains, among much else, that others lead the partitions of this node. Its followers reach it all
        the time. Requests of clients mostly arrive when it learns of that, and find coordinators without pending
        writes.
        """
        controller = self._context.controller()
        if machine is controller:
            others = [each for each in self._context.machines if each is not controller]
            machine = self._random.choice(others)
        if not (machine.is_serving and controller.is_serving):
            return
        admin = self._admin_at(controller)
        await self._lead(controller, INTERNAL, machine)
        await asyncio.sleep(self._random.uniform(0.05, 0.5))
        if self._random.random() < _HOLD_CLIENTS_CHANCE:
            self._network.isolate([machine.name], [CLIENT])
            await self._commit(machine, INTERNAL)  # nothing is committed later: the controller follows
        self._network.isolate([machine.name], [controller.name])
        await self._in_time(admin.replace_oldest())
        second = self._random.choice([each for each in self._context.machines if each is not machine])
        await self._move_leaders(controller, INTERNAL, second)
        applied, offset = _applied_offset(machine), _applied_offset(controller)
        for _ in range(_FILLERS_MAX):
            if _has_only_snapshot(controller, applied, offset):
                break
            await self._in_time(self._settings.fill_metadata_log(admin.client))
        self._network.reconnect([machine.name], [controller.name])
        self._loop.retry_connections(machine.name)
        await self._in_time(self._context.history.metadata.snapshot_waiters.next(machine.name))
        await self._follow(machine, INTERNAL)  # earlier requests would be in flight when it follows
        self._network.reconnect([machine.name], [CLIENT])
        self._loop.retry_connections(machine.name)

    # -- replicas -------------------------------------------------------------------------------------

    async def _crash_replicas_in_turn(self, machine: Machine) -> None:
        """Crash the replicas of a partition one by one, its leader last, and start them in the same order.

        An administrator sees that producers wait for missing replicas, and lowers `min.insync.replicas`.
        """
        choices = [*PARTITIONS[plan.PAIR] * 3, *PARTITIONS[plan.UNSYNCED], *PARTITIONS[plan.LEDGER]]
        partition = self._random.choice(choices)
        if self._context.leader_of(partition, machine) is None:
            partition = PARTITIONS[plan.LEDGER][0]
        leader = self._context.leader_of(partition, machine)
        known = None if machine.image is None else machine.image.partition(*partition)
        if leader is None or known is None:
            return
        for each in [self._context.machines[node_id - 1] for node_id in known.replicas]:
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
            await machine.end(self._random.choice(list(Ending)))
            machine.start_later(self._random.uniform(3, 5))

    # -- leaders --------------------------------------------------------------------------------------

    def _in_sync(self, controller: Machine, partitions: Sequence[PartitionName]) -> list[Machine]:
        """Return the nodes that may lead all these partitions, in random order."""
        found = set(self._context.machines)
        for each in partitions:
            known = None if controller.image is None else controller.image.partition(*each)
            isr = () if known is None else known.isr
            found &= {self._context.machines[node_id - 1] for node_id in isr}
        able = [each for each in self._context.machines if each in found and each.is_serving]
        return self._random.sample(able, len(able))

    async def _lead(self, controller: Machine, partitions: Sequence[PartitionName], to: Machine) -> bool:
        """Make a node lead partitions, and wait until it knows."""
        await self._move_leaders(controller, partitions, to)
        return await self._wait(lambda: all(_leads(to, each) for each in partitions))

    async def _follow(self, follower: Machine, partitions: Sequence[PartitionName]) -> None:
        """Wait until a node knows that it does not lead."""
        await self._wait(lambda: not any(_leads(follower, each) for each in partitions))

    async def _commit(self, leader: Machine, partitions: Sequence[PartitionName]) -> None:
        """Wait until a leader has no uncommitted records."""
        await self._wait(lambda: not any(_has_uncommitted(leader, each) for each in partitions))

    async def _move_leaders(self, asked: Machine, partitions: Sequence[PartitionName], to: Machine) -> None:
        if (image := asked.image) is None:
            return
        known = {each: image.partition(*each) for each in partitions}
        replicas = {name: state.replicas for name, state in known.items() if state is not None}
        await self._in_time(self._admin_at(asked).move_leaders(replicas, to.node_id))

    def _admin_at(self, machine: Machine) -> Admin:
        admin = self._admins.get(machine.name)
        if admin is None:
            client = self._context.client.another((machine.name, PORT))
            node_ids = [each.node_id for each in self._context.machines]
            admin = self._admins[machine.name] = Admin(client, node_ids, INTERNAL, name=machine.name)
        return admin

    async def _wait(self, condition: Callable[[], bool]) -> bool:
        return await self._context.wait_until(condition, _POLL_S)

    async def _in_time(self, response: Awaitable[T]) -> T | None:
        """Wait for an answer, but stop before the moment passes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TIMEOUT_S):
                return await response
        return None


def _leads(machine: Machine, partition: PartitionName) -> bool:
    replica = machine.replica(partition)
    return replica is not None and replica.is_leader


def _has_uncommitted(machine: Machine, partition: PartitionName) -> bool:
    replica = machine.replica(partition)
    return replica is not None and replica.is_open and replica.log.log_end_offset > replica.high_watermark


def _applied_offset(machine: Machine) -> int:
    return -1 if machine.image is None else machine.image.offset


def _has_only_snapshot(machine: Machine, applied: int, offset: int) -> bool:
    """Return whether a node no longer has the records after `applied`, but a snapshot beyond `offset`."""
    if machine.services is None:  # it takes no part in the quorum yet
        return True
    shape = machine.services.quorum.driver.node.log
    latest = shape.latest_snapshot
    return latest is not None and latest.offset > offset and shape.start_offset > applied + 1
