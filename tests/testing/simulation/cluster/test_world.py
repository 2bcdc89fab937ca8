"""Whole clusters under fixed seeds: nothing acknowledged is lost, nodes agree, and all comes back after faults."""

import os
import subprocess
import sys
from collections import Counter
from functools import lru_cache

import pytest

from penstock.server.broker_apis import BROKER_APIS
from penstock.testing.simulation.cluster.plan import SOLO
from penstock.testing.simulation.cluster.world import SimulatedCluster, run_cluster

SEEDS = [*range(6), 9]
UNREGISTER_BROKER = 64


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
    assert sum(each.transactions.offset_commit_count() for each in histories) > 5
    assert sum(each.commits.committed_count for each in histories) > 200
    assert sum(each.commits.refused_count for each in histories) > 20
    assert sum(run_of(seed).usage.pruner.count for seed in SEEDS) > 10


@pytest.mark.xdist_group("fixed seeds")
def test_a_hostile_node_sends_every_request_that_is_for_brokers_only_and_is_refused() -> None:
    refused = sum((run_of(seed).history.strangers.refused for seed in SEEDS), Counter[int]())
    assert set(refused) == {*BROKER_APIS, UNREGISTER_BROKER}


@pytest.mark.xdist_group("fixed seeds")
@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_crowd_sends_to_the_one_broker_of_a_partition_is_gathered(seed: int) -> None:
    history = run_of(seed).history
    assert max(history.replicas.groups) > 2
    assert len(history.records.acknowledged[SOLO, 0]) > 30


def test_a_partition_that_one_broker_has_waits_for_it_and_comes_back() -> None:
    cluster = run_cluster(0, fault_count=4, only=["crash_gathering"])
    broker = cluster.machines[0].broker
    assert broker is not None
    solo = broker.services.controller.image.topics[SOLO]
    leaders = {
        epoch: leader
        for (topic_id, _, epoch), leader in cluster.history.replicas.leaders.items()
        if topic_id == solo.topic_id
    }
    assert len(leaders) > 1  # a crash of its broker begins another
    assert set(leaders.values()) >= set(solo.partitions[0].replicas)  # which an administrator may have moved


@pytest.mark.xdist_group("fixed seeds")
def test_the_same_seed_gives_the_same_run() -> None:
    first, other, again = run_of(3), run_of(4), run_cluster(3)
    assert first.loop.trace == again.loop.trace
    assert first.loop.trace != other.loop.trace


TRACE = "from {module} import run_cluster; print(run_cluster(3, fault_count=1).loop.trace)"


def test_the_same_seed_gives_the_same_run_in_processes_that_hash_otherwise() -> None:
    program = TRACE.format(module=run_cluster.__module__)
    traces = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert traces[0].count(b" bytes, ") > 1000
    assert traces[0] == traces[1]
