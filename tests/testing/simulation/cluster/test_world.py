"""Whole clusters under fixed seeds: nothing acknowledged is lost, nodes agree, and all comes back after faults."""

from functools import lru_cache

import pytest

from penstock.testing.simulation.cluster.world import SimulatedCluster, run_cluster

SEEDS = [*range(6), 9]


@lru_cache(maxsize=len(SEEDS))
def run_of(seed: int) -> SimulatedCluster:
    return run_cluster(seed)


@pytest.mark.xdist_group("fixed seeds")
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_and_all_heals_in_a_cluster_with_faults(seed: int) -> None:
    cluster = run_of(seed)
    assert cluster.history.records.acknowledged_count > 0
    assert sum(cluster.faults.counts.values()) == cluster.fault_count


@pytest.mark.xdist_group("fixed seeds")
def test_all_kinds_of_clients_get_on_meanwhile() -> None:
    histories = [run_of(seed).history for seed in SEEDS]
    assert sum(each.records.acknowledged_count for each in histories) > 200
    assert sum(each.transactions.committed_count() for each in histories) > 10
    assert sum(each.group.handover_count for each in histories) > 10
    assert sum(each.shares.done_count for each in histories) > 200
    assert sum(each.shares.again_count for each in histories) > 50
    assert sum(each.committed_shares.done_count for each in histories) > 50


@pytest.mark.xdist_group("fixed seeds")
def test_the_same_seed_gives_the_same_run() -> None:
    first, other, again = run_of(3), run_of(4), run_cluster(3)
    assert first.loop.trace == again.loop.trace
    assert first.loop.trace != other.loop.trace
