"""What goes wrong in a simulated cluster, one thing after the other, and sometimes several at once."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from random import Random

from penstock.cluster.raft.values import Election
from penstock.testing.disk import Keep
from penstock.testing.simulation.cluster.clients.client import Client
from penstock.testing.simulation.cluster.election_faults import ElectionFaults
from penstock.testing.simulation.cluster.machine import Ending, Machine
from penstock.testing.simulation.cluster.network_faults import NetworkFaults
from penstock.testing.simulation.cluster.plan import GOSSIP, LEDGER, ORDERS, ROTTING, SOLO
from penstock.testing.simulation.loop import SimulatedLoop

Kind = Callable[[Machine], Awaitable[None]]
_POWER_CUT_OPERATIONS_MAX = 60
_POWER_CUT_LOOKS = 500
_GATHERING_SLOWNESS = 100
_FULL_BYTES_MAX = 4000


class Faults:
    def __init__(
        self,
        loop: SimulatedLoop,
        machines: list[Machine],
        random: Random,
        client: Client,
        *,
        only: Iterable[str] = (),
    ) -> None:
        """`only` names the faults to choose from; all, if none is named."""
        self._loop = loop
        self._machines = machines
        self._random = random
        self._history = client.history
        self._network = NetworkFaults(loop, [each.name for each in machines], random)
        self._kinds: list[tuple[Kind, int]] = [
            (self._crash, 4),
            (self._cut_power_at_work, 2),
            (self._crash_gathering, 2),
            (self._crash_several, 2),
            (self._crash_voter, 2),
            (self._maroon_leader, 2),
            (self._stop, 2),
            (self._fail_disk, 2),
            (self._fill_disk, 1),
            (self._slow_disk, 2),
            (self._cool_disk, 2),
            (self._rot, 3),
            *ElectionFaults(loop, machines, random, client).kinds,
            *self._network.kinds,
        ]
        self._only = frozenset(only)
        self._are_over = False
        self._rotting = random.choice(machines)
        """The only one whose disk rots: what rots there is intact on another."""
        self._old_leader: Machine | None = None
        """Whom an election shall replace, whose voters are to crash."""
        self.counts: Counter[str] = Counter()

    async def disturb(self) -> None:
        """Let one thing go wrong."""
        chosen = [each for each in self._kinds if not self._only or _name(each[0]) in self._only]
        kinds, weights = zip(*chosen, strict=True)
        (kind,) = self._random.choices(kinds, weights)
        self.counts[_name(kind)] += 1
        await kind(self._random.choice(self._machines))

    async def heal(self) -> None:
        """No more faults, and everybody is started anew whose disk has failed."""
        self._are_over = True
        self._old_leader = None
        self._loop.network.heal()
        self._loop.disk_slowness.clear()
        for machine in self._machines:
            machine.disk.heal()
            machine.disk.set_cold(False)
            machine.disk.set_capacity(None)
            if machine.broker is not None and machine.is_sick:
                await machine.end(Ending.KILLED if machine.disk.has_power else Ending.POWER_CUT)
            machine.is_disk_full = False
            if machine.broker is None:
                machine.start()

    # -- the end of a process -------------------------------------------------------------------------

    async def _crash(self, machine: Machine) -> None:
        if machine.broker is None:
            return
        await machine.end(self._random.choice([Ending.POWER_CUT, Ending.POWER_CUT, Ending.KILLED]))
        self._start_later(machine, self._random.uniform(0.01, 8))

    async def _crash_several(self, _machine: Machine) -> None:
        for machine in self._random.sample(self._machines, self._random.randint(2, len(self._machines))):
            await self._crash(machine)
            await asyncio.sleep(self._random.choice([0, 0, self._random.uniform(0, 2)]))

    async def _stop(self, machine: Machine) -> None:
        """Asked to, it hands over first."""
        if machine.is_serving:
            await machine.end(Ending.STOPPED)
            self._start_later(machine, self._random.uniform(0.01, 8))

    async def _cut_power_at_work(self, machine: Machine) -> None:
        """In the middle of something that changes the disk."""
        if machine.broker is None:
            return
        disk = machine.disk
        disk.cut_power_at(self._random.randrange(_POWER_CUT_OPERATIONS_MAX))
        for _ in range(_POWER_CUT_LOOKS):
            if not disk.has_power or machine.disk is not disk:
                break
            await asyncio.sleep(0.001)
        if machine.disk is disk and machine.broker is not None:
            await machine.end(Ending.POWER_CUT)
            self._start_later(machine, self._random.uniform(0.01, 4))

    async def _crash_gathering(self, machine: Machine) -> None:
        """Take the power from the one that has a partition alone, while what it has gathered waits for a slow sync."""
        holder = self._leader_of(SOLO, machine)
        if holder is None:
            return
        self._loop.disk_slowness[holder.name] = _GATHERING_SLOWNESS
        groups = self._history.replicas.groups
        group_count = len(groups)
        for _ in range(_POWER_CUT_LOOKS):
            if len(groups) > group_count:
                break
            await asyncio.sleep(0.001)
        await asyncio.sleep(self._random.uniform(0.001, 0.05))
        self._loop.disk_slowness.pop(holder.name, None)
        if len(groups) > group_count and holder.broker is not None:
            await holder.end(Ending.POWER_CUT, self._random.choice([None, Keep.NOTHING]))
            self._start_later(holder, self._random.uniform(0.01, 4))

    def _start_later(self, machine: Machine, delay_s: float) -> None:
        def start() -> None:
            if machine.broker is None:
                machine.start()

        self._loop.call_later(delay_s, start)

    # -- elections ------------------------------------------------------------------------------------

    async def _maroon_leader(self, machine: Machine) -> None:
        """Cut the leader of a partition off from all other nodes, while its clients still see it."""
        leader = self._leader_of(self._random.choice([GOSSIP, ORDERS, LEDGER]), machine)
        if leader is None:
            return
        others = [each.name for each in self._machines if each is not leader]
        self._loop.network.isolate([leader.name], others)
        await asyncio.sleep(self._random.uniform(2, 5))
        self._loop.network.mend([leader.name], others)

    def _leader_of(self, topic: str, machine: Machine) -> Machine | None:
        """Who leads its first partition, as `machine` has it."""
        if machine.broker is None or not machine.is_serving:
            return None
        partition = machine.broker.services.controller.image.partition(topic, 0)
        if partition is None or partition.leader < 0:
            return None
        return self._machines[partition.leader - 1]

    async def _crash_voter(self, _machine: Machine) -> None:
        """Have the quorum elect another leader, and take the power from who voted for it. See `voted`."""
        leaders = self._history.metadata.leaders
        leader = self._machines[leaders[max(leaders)] - 1]
        self._loop.network.isolate(
            [leader.name], [each.name for each in self._machines if each is not leader]
        )
        self._old_leader = leader
        await asyncio.sleep(self._random.uniform(2, 4))
        self._old_leader = None
        self._loop.network.mend([leader.name], [each.name for each in self._machines])

    def voted(self, name: str, election: Election) -> None:
        """A node has written down a vote or an epoch, and is about to say so.

        A voter that loses power then, and comes back at once, must remember whom it voted for: the old leader is there
        to ask it again, and the new one is not.
        """
        old_leader, voted = self._old_leader, election.voted
        voter = next((each for each in self._machines if each.name == name), None)
        if old_leader is None or voter is None or voted is None or voted.node_id == voter.node_id:
            return
        candidate = f"node-{voted.node_id}"
        others = [each.name for each in self._machines if each.name != candidate]
        self._loop.call_later(self._random.uniform(0.005, 0.015), self._forget_vote, voter, old_leader)
        self._loop.call_later(0.015, self._loop.network.isolate, [candidate], others)
        self._loop.call_later(self._random.uniform(3, 6), self._loop.network.mend, [candidate], others)

    def _forget_vote(self, voter: Machine, old_leader: Machine) -> None:
        async def crash() -> None:
            if voter.broker is not None and not self._are_over:
                await voter.end(Ending.POWER_CUT, Keep.NOTHING)
                self._start_later(voter, self._random.uniform(0.01, 0.1))

        self._loop.network.mend([old_leader.name], [each.name for each in self._machines])
        self._loop.create_task(crash())

    # -- disks ----------------------------------------------------------------------------------------

    async def _fail_disk(self, machine: Machine) -> None:
        """A disk that fails once is not trusted again: whoever runs the node restarts it, some time later."""
        part = self._random.choice(["orders", "ledger", "gossip", "solo", "__cluster_metadata", "__", ""])
        machine.disk.fail(self._random.choice(["sync", "sync", "write"]), part, times=1)
        machine.has_failing_disk = True
        self._loop.call_later(self._random.uniform(1, 8), self._replace_broker, machine)

    async def _fill_disk(self, machine: Machine) -> None:
        room_bytes = self._random.randrange(_FULL_BYTES_MAX)
        machine.disk.set_capacity(machine.disk.used_bytes + room_bytes, writes_in_part=True)
        machine.is_disk_full = True
        self._loop.call_later(self._random.uniform(1, 8), self._replace_broker, machine)

    def _replace_broker(self, machine: Machine) -> None:
        if machine.is_sick and machine.broker is not None and not self._are_over:
            self._loop.create_task(self._crash(machine))
        machine.is_disk_full = False
        machine.disk.set_capacity(None)

    async def _slow_disk(self, machine: Machine) -> None:
        self._loop.disk_slowness[machine.name] = self._random.uniform(5, 200)
        self._loop.call_later(self._random.uniform(0.5, 6), self._loop.disk_slowness.pop, machine.name, None)

    async def _cool_disk(self, machine: Machine) -> None:
        """Nothing is in memory any more: reads wait for the disk, off the event loop."""
        machine.disk.set_cold(True)
        self._loop.call_later(self._random.uniform(0.5, 6), self._warm_disk, machine)

    def _warm_disk(self, machine: Machine) -> None:
        machine.disk.set_cold(False)

    async def _rot(self, _machine: Machine) -> None:
        machine = self._rotting
        others = [each for each in self._machines if each is not machine and each.disk.has_power]
        partition = machine.rot(self._random.choice(ROTTING), self._random, others)
        if partition is not None:
            self._history.rots(machine.node_id, partition)


def _name(kind: Kind) -> str:
    return kind.__name__.strip("_")
