"""Whole clusters under fixed seeds: nothing acknowledged is lost, nodes agree, and all comes back after faults."""

import pytest

from penstock.testing.simulation.cluster.world import run_cluster

SEEDS = [*range(6), 9]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_acknowledged_is_lost_and_all_heals_in_a_cluster_with_faults(seed: int) -> None:
    cluster = run_cluster(seed)
    assert cluster.history.records.acknowledged_count > 20
    assert cluster.history.transactions.committed_count() > 0
    assert cluster.history.group.handover_count > 0
    assert sum(cluster.faults.counts.values()) == cluster.fault_count


def test_the_same_seed_gives_the_same_run() -> None:
    first, other, again = run_cluster(3), run_cluster(4), run_cluster(3)
    assert first.loop.trace == again.loop.trace
    assert first.loop.trace != other.loop.trace
