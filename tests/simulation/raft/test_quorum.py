"""The quorum with its driver, on real logs over faulty disks, with Kafka's wire format."""

import asyncio
import errno
from functools import partial

import pytest

from penstock.protocol.records.builder import NewRecord, build_batch
from penstock_simulation.broker import run_simulated
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.raft.quorum import SimulatedQuorum


async def run(loop: SimulatedLoop, seed: int, voter_count: int = 3) -> SimulatedQuorum:
    quorum = SimulatedQuorum(loop, seed, voter_count)
    await quorum.run()
    return quorum


@pytest.mark.parametrize("seed", range(4))
def test_no_acknowledged_record_is_lost_through_power_cuts_and_partitions(seed: int) -> None:
    quorum, _ = run_simulated(seed, partial(run, seed=seed))
    assert len(quorum.acked) > 20
    assert len(quorum.checker.leaders) > 0


def test_a_quorum_of_one_leads_after_its_start_and_continues_after_a_power_cut() -> None:
    async def alone(loop: SimulatedLoop) -> list[bytes]:
        quorum = SimulatedQuorum(loop, 1, voter_count=1)
        machine = quorum.machines[0]
        await loop.run_on(machine.name, machine.start())
        assert quorum.leader() is machine
        before_s = loop.time()
        assert machine.driver is not None
        await quorum.append_one(machine.driver, b"kept")
        assert loop.time() - before_s < 1
        machine.crash()
        await loop.run_on(machine.name, machine.start())
        assert quorum.leader() is machine
        return machine.state.values

    values, _ = run_simulated(1, alone)
    assert values == [b"kept"]


def test_a_cancelled_append_that_a_full_disk_refuses_does_not_end_the_driver() -> None:
    async def alone(loop: SimulatedLoop) -> list[bytes]:
        quorum = SimulatedQuorum(loop, 1, voter_count=1)
        machine = quorum.machines[0]
        await loop.run_on(machine.name, machine.start())
        driver = machine.driver
        assert driver is not None
        fault = machine.disk.fail("write", "__cluster_metadata", error=errno.ENOSPC)
        appending = asyncio.create_task(
            driver.append(build_batch([NewRecord(value=b"x")]), driver.node.epoch)
        )
        while not driver._appending:
            await asyncio.sleep(0)
        appending.cancel()
        await asyncio.sleep(1)
        machine.disk.heal(fault)
        await quorum.append_one(driver, b"later")
        return quorum.acked

    acked, _ = run_simulated(1, alone)
    assert acked == [b"later"]
