"""Disks that fail, run full, slow down and flip bits."""

from penstock_simulation.cluster import plan
from penstock_simulation.cluster.faults.context import FaultContext, WeightedKinds
from penstock_simulation.cluster.faults.processes import crash
from penstock_simulation.cluster.machine import Machine

_FAILING = (plan.ORDERS, plan.LEDGER, plan.LEADER_ACKS, plan.SINGLE, "__cluster_metadata", "__", "")
_FREE_BYTES_MAX = 4000


class DiskFaults:
    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._random = context.random
        self._corrupted = context.random.choice(context.machines)
        """The only machine whose bits flip: another has them intact."""
        self.kinds: WeightedKinds = (
            (self._fail_disk, 2),
            (self._fill_disk, 1),
            (self._slow_disk, 2),
            (self._evict_page_cache, 2),
            (self._flip_bit, 3),
        )

    async def _fail_disk(self, machine: Machine) -> None:
        """Fail one operation. The operator restarts the broker some time later."""
        path_part = self._random.choice(_FAILING)
        machine.disk.fail(self._random.choice(["sync", "sync", "write"]), path_part, times=1)
        machine.has_failing_disk = True
        self._context.loop.call_later(self._random.uniform(1, 8), self._restart, machine)

    async def _fill_disk(self, machine: Machine) -> None:
        free_bytes = self._random.randrange(_FREE_BYTES_MAX)
        machine.disk.set_capacity(machine.disk.used_bytes + free_bytes, writes_in_part=True)
        machine.is_disk_full = True
        self._context.loop.call_later(self._random.uniform(1, 8), self._restart, machine)

    def _restart(self, machine: Machine) -> None:
        if machine.needs_restart and machine.broker is not None and not self._context.is_over:
            self._context.loop.create_task(crash(self._context, machine))
        machine.is_disk_full = False
        machine.disk.set_capacity(None)

    async def _slow_disk(self, machine: Machine) -> None:
        loop = self._context.loop
        loop.disk_slowness[machine.name] = self._random.uniform(5, 200)
        loop.call_later(self._random.uniform(0.5, 6), loop.disk_slowness.pop, machine.name, None)

    async def _evict_page_cache(self, machine: Machine) -> None:
        """Make reads wait for the disk, off the event loop."""
        machine.disk.set_cold(True)
        delay_s = self._random.uniform(0.5, 6)
        self._context.loop.call_later(delay_s, lambda: machine.disk.set_cold(False))

    async def _flip_bit(self, _machine: Machine) -> None:
        machine = self._corrupted
        others = [each for each in self._context.machines if each is not machine and each.disk.has_power]
        partition = machine.corrupt(self._random.choice(plan.CORRUPTED), self._random, others)
        if partition is not None:
            self._context.history.replicas.corrupted.add((machine.node_id, partition))
