"""Three real brokers, replication factor 3, min.insync.replicas 2: one node fails at a time, and nothing is lost.

`make soak` does it for SOAK_SECONDS, with every kind of failure.
"""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from tests.failover.writer import SteadyWriter, check_nothing_lost, read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

PARTITIONS = 4
TOPIC = "orders"


def fail(cluster: ClusterProcesses, number: int, how: str) -> None:
    if how == "kill":
        cluster.nodes[number].kill()
    elif how == "suspend":
        cluster.suspend(number)
    else:
        assert cluster.nodes[number].terminate() == 0


def mend(cluster: ClusterProcesses, number: int, how: str) -> None:
    if how == "suspend":
        cluster.resume(number)
    else:
        cluster.nodes[number].start()


def fail_in_turn(
    cluster: ClusterProcesses, writer: SteadyWriter, failures: list[tuple[int, str]]
) -> list[float]:
    """Each node fails and comes back; gives how long writes stood still each time."""
    silences = []
    for number, how in failures:
        cluster.await_in_sync(TOPIC)
        began, before = time.monotonic(), writer.count
        fail(cluster, number, how)
        eventually(lambda before=before: writer.count > before + 200, "writes go on")  # type: ignore[misc]
        silences.append(writer.longest_silence_s(began))
        mend(cluster, number, how)
    cluster.await_in_sync(TOPIC)
    return silences


@pytest.mark.timeout(240)
def test_one_node_fails_at_a_time_and_nothing_acknowledged_is_lost_or_doubled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS, **{"min.insync.replicas": "2"})
        writer = SteadyWriter(cluster.bootstrap, TOPIC, PARTITIONS)
        controller = cluster.controller()
        other = next(each for each in cluster.nodes if each != controller)
        silences = fail_in_turn(
            cluster,
            writer,
            [(controller, "kill"), (other, "suspend"), (cluster.leader_of(TOPIC), "terminate")],
        )
        writer.stop()
        check_nothing_lost(writer, read_all(cluster.bootstrap, TOPIC, PARTITIONS))
    with capsys.disabled():
        print(f"\nwrites stood still for {', '.join(f'{each:.1f}' for each in silences)} s")


@pytest.mark.soak
def test_nodes_fail_at_random_for_a_long_time(tmp_path: Path) -> None:
    rng = random.Random(int(os.environ.get("SEED", str(int(time.time())))))
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS", "300"))
    silences: list[float] = []
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic(TOPIC, PARTITIONS, **{"min.insync.replicas": "2"})
        writer = SteadyWriter(cluster.bootstrap, TOPIC, PARTITIONS)
        while time.monotonic() < deadline:
            failure = (rng.choice(list(cluster.nodes)), rng.choice(["kill", "kill", "suspend", "terminate"]))
            silences += fail_in_turn(cluster, writer, [failure])
        writer.stop()
        check_nothing_lost(writer, read_all(cluster.bootstrap, TOPIC, PARTITIONS))
    ordered = sorted(silences)
    print(
        f"{len(ordered)} failures; writes stood still for {ordered[0]:.1f} … {ordered[-1]:.1f} s, "
        f"median {ordered[len(ordered) // 2]:.1f} s"
    )


@pytest.mark.timeout(180)
def test_the_leader_dies_another_takes_over_and_the_first_catches_up(tmp_path: Path) -> None:
    """The walk of the replicated seed: produce through any node, kill the leader, produce again, bring it back."""
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("walk", PARTITIONS)
        writer = SteadyWriter(cluster.nodes[3].bootstrap, "walk", PARTITIONS)
        eventually(lambda: writer.count > 50, "the first records")
        leader = cluster.leader_of("walk")
        cluster.nodes[leader].kill()
        before = writer.count
        eventually(lambda: writer.count > before + 200, "records through the new leader")
        assert cluster.leader_of("walk") not in (leader, -1)
        cluster.nodes[leader].start()
        cluster.await_in_sync("walk")
        writer.stop()
        check_nothing_lost(writer, read_all(cluster.bootstrap, "walk", PARTITIONS))


@pytest.mark.timeout(120)
def test_a_node_that_stops_leaves_no_partition_without_a_leader(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster:
        cluster.create_topic("led", 6)
        cluster.await_in_sync("led")
        leaving = cluster.leader_of("led")
        os.kill(cluster.nodes[leaving].pid, signal.SIGTERM)
        others = [number for number in cluster.nodes if number != leaving]
        admin = cluster.admin()
        while cluster.nodes[leaving].is_running:
            partitions = admin.list_topics("led", timeout=10).topics["led"].partitions.values()
            assert all(each.leader != -1 for each in partitions)
        eventually(
            lambda: all(
                each.leader in others
                for each in admin.list_topics("led", timeout=10).topics["led"].partitions.values()
            ),
            "the others lead everything",
        )
