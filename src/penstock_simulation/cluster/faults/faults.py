"""The faults of a run: one after the other, and sometimes several at once."""

from collections import Counter
from collections.abc import Iterable

from penstock.cluster.raft.values import Election
from penstock_simulation.cluster.faults.context import FaultContext, Kind
from penstock_simulation.cluster.faults.disks import DiskFaults
from penstock_simulation.cluster.faults.elections import ElectionFaults
from penstock_simulation.cluster.faults.network import NetworkFaults
from penstock_simulation.cluster.faults.processes import ProcessFaults
from penstock_simulation.cluster.machine import Ending


class Faults:
    def __init__(self, context: FaultContext, *, only: Iterable[str] = ()) -> None:
        """`only` names the faults to choose from; all if empty."""
        self._context = context
        processes = ProcessFaults(context)
        self._on_vote = processes.on_vote
        families = (processes, DiskFaults(context), ElectionFaults(context), NetworkFaults(context))
        kinds = [each for family in families for each in family.kinds]
        names = frozenset(only)
        self._kinds = [(kind, weight) for kind, weight in kinds if not names or _name(kind) in names]
        self.counts: Counter[str] = Counter()

    async def inject(self) -> None:
        """Inject one fault."""
        kinds, weights = zip(*self._kinds, strict=True)
        (kind,) = self._context.random.choices(kinds, weights)
        self.counts[_name(kind)] += 1
        await kind(self._context.random.choice(self._context.machines))

    def on_vote(self, name: str, election: Election) -> None:
        self._on_vote(name, election)

    async def clear(self) -> None:
        """Remove all faults, and restart every broker whose disk has failed."""
        context = self._context
        context.is_over = True
        context.network.clear_faults()
        context.loop.disk_slowness.clear()
        for machine in context.machines:
            machine.disk.heal()
            machine.disk.set_cold(False)
            machine.disk.set_capacity(None)
            if machine.broker is not None and machine.needs_restart:
                await machine.end(Ending.KILLED if machine.disk.has_power else Ending.POWER_CUT)
            machine.is_disk_full = False
            if machine.broker is None:
                machine.start()


def _name(kind: Kind) -> str:
    return kind.__name__.strip("_")
