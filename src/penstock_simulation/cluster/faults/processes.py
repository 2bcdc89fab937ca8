"""Brokers that crash, stop, and lose power at the worst moments."""

import asyncio

from penstock.cluster.raft.values import Election
from penstock_simulation.cluster.faults.context import FaultContext, WeightedKinds
from penstock_simulation.cluster.machine import Ending, Machine
from penstock_simulation.cluster.plan import LEADER_ACKS, LEDGER, ORDERS, SINGLE
from penstock_simulation.disk import Keep

_POWER_CUT_OPERATIONS_MAX = 60
_GROUP_COMMIT_SLOWNESS = 100


class ProcessFaults:
    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._random = context.random
        self._old_leader: Machine | None = None
        """The leader that the quorum is to replace; its voters are to crash."""
        self.kinds: WeightedKinds = (
            (self._crash, 4),
            (self._cut_power_during_io, 2),
            (self._cut_power_during_group_commit, 2),
            (self._crash_several, 2),
            (self._crash_voter, 2),
            (self._isolate_leader, 2),
            (self._stop, 2),
        )

    async def _crash(self, machine: Machine) -> None:
        await crash(self._context, machine)

    async def _crash_several(self, _machine: Machine) -> None:
        machines = self._context.machines
        for machine in self._random.sample(machines, self._random.randint(2, len(machines))):
            await self._crash(machine)
            await asyncio.sleep(self._random.choice([0, 0, self._random.uniform(0, 2)]))

    async def _stop(self, machine: Machine) -> None:
        """Ask a broker to stop, so that it moves its leaders first."""
        if machine.is_serving:
            await machine.end(Ending.STOPPED)
            machine.start_later(self._random.uniform(0.01, 8))

    async def _cut_power_during_io(self, machine: Machine) -> None:
        """Cut the power in the middle of work that changes the disk."""
        if machine.broker is None:
            return
        disk = machine.disk
        disk.cut_power_at(self._random.randrange(_POWER_CUT_OPERATIONS_MAX))
        await self._context.wait_until(lambda: not disk.has_power or machine.disk is not disk)
        if machine.disk is disk:
            await self._cut_power(machine, 4)

    async def _cut_power_during_group_commit(self, machine: Machine) -> None:
        """Cut the power of the only replica of a partition while a group of appends waits for a slow sync."""
        holder = self._context.leader_of((SINGLE, 0), machine)
        if holder is None:
            return
        slowness = self._context.loop.disk_slowness
        slowness[holder.name] = _GROUP_COMMIT_SLOWNESS
        sizes = self._context.history.replicas.group_commit_sizes
        count = len(sizes)
        has_written = await self._context.wait_until(lambda: len(sizes) > count)
        await asyncio.sleep(self._random.uniform(0.001, 0.05))
        slowness.pop(holder.name, None)
        if has_written or len(sizes) > count:
            await self._cut_power(holder, 4, self._random.choice([None, Keep.NOTHING]))

    async def _cut_power(self, machine: Machine, down_s_max: float, keep: Keep | None = None) -> None:
        if machine.broker is not None:
            await machine.end(Ending.POWER_CUT, keep)
            machine.start_later(self._random.uniform(0.01, down_s_max))

    async def _isolate_leader(self, machine: Machine) -> None:
        """Isolate the leader of a partition from all other nodes, but not from its clients."""
        leader = self._context.leader_of((self._random.choice([LEADER_ACKS, ORDERS, LEDGER]), 0), machine)
        if leader is None:
            return
        others = self._context.names_except(leader)
        self._context.network.isolate([leader.name], others)
        await asyncio.sleep(self._random.uniform(2, 5))
        self._context.network.reconnect([leader.name], others)

    async def _crash_voter(self, _machine: Machine) -> None:
        """Make the quorum elect another leader, and cut the power of its voters. See `on_vote`."""
        leader = self._context.controller()
        others = self._context.names_except(leader)
        self._context.network.isolate([leader.name], others)
        self._old_leader = leader
        await asyncio.sleep(self._random.uniform(2, 4))
        self._old_leader = None
        self._context.network.reconnect([leader.name], others)

    def on_vote(self, name: str, election: Election) -> None:
        """Called when a node has stored a vote or an epoch, and is about to answer.

        A voter that loses power then, and comes back at once, must remember its vote: the old leader is there to ask
        for it again, and the new one is not.
        """
        context, old_leader, voted = self._context, self._old_leader, election.voted
        voter = next((each for each in context.machines if each.name == name), None)
        if old_leader is None or voter is None or voted is None or voted.node_id == voter.node_id:
            return
        candidate = context.machines[voted.node_id - 1]
        others = context.names_except(candidate)
        call_later, network = context.loop.call_later, context.network
        call_later(self._random.uniform(0.005, 0.015), self._crash_after_vote, voter, old_leader)
        call_later(0.015, network.isolate, [candidate.name], others)
        call_later(self._random.uniform(3, 6), network.reconnect, [candidate.name], others)

    def _crash_after_vote(self, voter: Machine, old_leader: Machine) -> None:
        self._context.network.reconnect([old_leader.name], self._context.names_except())
        if not self._context.is_over:
            self._context.loop.create_task(self._cut_power(voter, 0.1, Keep.NOTHING))


async def crash(context: FaultContext, machine: Machine) -> None:
    """Crash a broker and start it again some time later."""
    if machine.broker is not None:
        await machine.end(context.random.choice([Ending.POWER_CUT, Ending.POWER_CUT, Ending.KILLED]))
        machine.start_later(context.random.uniform(0.01, 8))
