"""Clusters under fixed seeds: no acknowledged record is lost, nodes agree, and clusters recover from faults."""

import os
import subprocess
import sys
from collections import Counter
from functools import lru_cache

import pytest

from penstock.server.broker_apis import BROKER_APIS
from penstock_simulation.cluster.plan import SINGLE
from penstock_simulation.cluster.world import SimulatedCluster, run_cluster

SEEDS = [*range(6), 9]
UNREGISTER_BROKER = 64


@lru_cache(maxsize=len(SEEDS))
def run_of(seed: int) -> SimulatedCluster:
    return run_cluster(seed)


@pytest.mark.xdist_group("fixed seeds")
@pytest.mark.parametrize("seed", SEEDS)
def test_no_acknowledged_record_is_lost_and_a_cluster_recovers_from_faults(seed: int) -> None:
    cluster = run_of(seed)
    assert cluster.history.records.acknowledged_count > 0
    assert sum(cluster.faults.counts.values()) == cluster.fault_count


@pytest.mark.xdist_group("fixed seeds")
def test_all_kinds_of_clients_make_progress() -> None:
    histories = [run_of(seed).history for seed in SEEDS]
    assert sum(each.records.acknowledged_count for each in histories) > 200
    assert sum(each.transactions.committed_count() for each in histories) > 10
    assert sum(each.group.assignment_count for each in histories) > 10
    assert sum(each.shares.acknowledged_count for each in histories) > 200
    assert sum(each.shares.redelivered_count for each in histories) > 50
    assert sum(each.committed_shares.acknowledged_count for each in histories) > 50
    assert sum(each.transactions.offset_commit_count() for each in histories) > 5
    assert sum(each.commits.committed_count for each in histories) > 200
    assert sum(each.commits.rejected_count for each in histories) > 20
    assert sum(run_of(seed).workload.deleter.count for seed in SEEDS) > 10


@pytest.mark.xdist_group("fixed seeds")
def test_a_hostile_node_sends_every_request_that_is_for_brokers_only_and_is_refused() -> None:
    refused = sum((run_of(seed).history.strangers.refused for seed in SEEDS), Counter[int]())
    assert set(refused) == {*BROKER_APIS, UNREGISTER_BROKER}


@pytest.mark.xdist_group("fixed seeds")
@pytest.mark.parametrize("seed", SEEDS)
def test_appends_of_many_producers_to_a_partition_with_one_replica_are_grouped(seed: int) -> None:
    history = run_of(seed).history
    assert max(history.replicas.group_commit_sizes) > 2
    assert len(history.records.acknowledged[SINGLE, 0]) > 30


def test_a_partition_with_one_replica_waits_for_its_broker_and_comes_back() -> None:
    cluster = run_cluster(0, fault_count=4, only=["cut_power_during_group_commit"])
    broker = cluster.machines[0].broker
    assert broker is not None
    solo = broker.services.controller.image.topics[SINGLE]
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


def test_the_same_seed_gives_the_same_run_under_another_hash_seed() -> None:
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
