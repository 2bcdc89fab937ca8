"""Three real brokers, replication factor 3, min.insync.replicas 2: one node fails at a time, and nothing is lost.

`make soak` runs it for SOAK_SECONDS. SEED repeats the draw of faults (not their timing, which is the machine's).
"""

import contextlib
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.failover.faults import OF_PROCESSES, Fault, network_where_possible, of_network
from tests.failover.reader import SteadyReader, check_read_as_written
from tests.failover.writer import SteadyWriter, check_nothing_lost, read_all
from tests.support.cluster import ClusterProcesses, eventually, running_cluster

PARTITIONS = 4
TOPIC = "orders"
# Preferred leaders are restored during the run, so that every node leads something when it fails.
PATIENT = {"broker.session.timeout.ms": "600000", "controller.quorum.fetch.timeout.ms": "600000"}
SETTINGS = {"min.insync.replicas": "2", "leader.imbalance.check.interval.seconds": "5"}


class FaultRun:
    """One cluster under load; faults hit one node at a time, drawn from a seed that is printed."""

    def __init__(self, cluster: ClusterProcesses, rng: random.Random) -> None:
        self._cluster = cluster
        self.rng = rng
        cluster.create_topic(TOPIC, PARTITIONS, **{"min.insync.replicas": "2"})
        self._writer = SteadyWriter(cluster.bootstrap, TOPIC, PARTITIONS)
        protocol = rng.choice(["classic", "consumer"])
        self._reader = SteadyReader(cluster.bootstrap, TOPIC, "steady", protocol)
        eventually(lambda: len(self._reader.acknowledged) == PARTITIONS, "the group has committed")
        self.silences_s: dict[str, list[float]] = defaultdict(list)

    def inject(self, fault: Fault, brief_s: float | None = None) -> None:
        """Inject a fault, until writes continue despite it or for a moment only."""
        for topic in (TOPIC, "__consumer_offsets"):
            self._cluster.await_in_sync(topic)
        node, began = self._victim(), time.monotonic()
        print(
            f"{fault.name} of node {node}" + ("" if brief_s is None else f" for {brief_s:.1f} s"), flush=True
        )
        fault.inject(self._cluster, node)
        if brief_s is None:
            self._await_writes()
        else:
            time.sleep(brief_s)
        fault.heal(self._cluster, node)
        self._await_writes()
        self.silences_s[fault.name].append(self._writer.longest_silence_s(began))

    def finish(self) -> None:
        self._cluster.await_in_sync(TOPIC)
        self._writer.stop()
        found = read_all(self._cluster.bootstrap, TOPIC, self._writer.ends())
        ends = {number: len(records) for number, records in found.items()}
        eventually(lambda: self._reader.has_committed(ends), "the group has read everything")
        self._reader.stop()
        check_nothing_lost(self._writer, found)
        check_read_as_written(self._reader, found)

    def _victim(self) -> int:
        """A leader more often than other nodes: little happens when a follower fails."""
        role = self.rng.choice(["leader", "controller", "any"])
        if role == "leader":
            return self._cluster.leader_of(TOPIC, self.rng.randrange(PARTITIONS))
        return (
            self._cluster.controller() if role == "controller" else self.rng.choice(list(self._cluster.nodes))
        )

    def _await_writes(self) -> None:
        before = self._writer.counts()
        eventually(
            lambda: all(now > then + 30 for then, now in zip(before, self._writer.counts(), strict=True)),
            "every partition is written to",
        )

    def distribution(self) -> str:
        """The longest pause of any partition after each fault."""
        everything = [each for found in self.silences_s.values() for each in found]
        kinds = [f"{name} {_spread(found)}" for name, found in sorted(self.silences_s.items())]
        return "writes paused: " + "; ".join([f"all {_spread(everything)}", *kinds])


def _spread(silences_s: list[float]) -> str:
    ordered = sorted(silences_s)
    count = len(ordered)
    if count < 4:
        return ", ".join(f"{each:.1f}" for each in ordered) + " s"
    median, late = ordered[count // 2], ordered[count * 9 // 10]
    return f"{count}x {ordered[0]:.1f}-{ordered[-1]:.1f} s, median {median:.1f}, 90 % {late:.1f}"


@contextlib.contextmanager
def fault_run(
    directory: Path, record_property: Callable[[str, object], None]
) -> Iterator[tuple[FaultRun, list[Fault]]]:
    """A cluster under load and the faults that this machine can inject; everything is checked at the end."""
    seed = int(os.environ.get("SEED", str(time.time_ns() % 1_000_000)))
    print(f"SEED={seed}", flush=True)
    record_property("failover", f"SEED={seed}")
    with network_where_possible(partial(record_property, "not run")) as network:
        faults = list(OF_PROCESSES)
        if network is not None:
            on_network, missing = of_network(network)
            faults += on_network
            for each in missing:
                record_property("not run", each)
        with running_cluster(directory, settings=SETTINGS, network=network) as cluster:
            found = FaultRun(cluster, random.Random(seed))
            yield found, faults
            found.finish()
    record_property("failover", found.distribution())


@pytest.mark.timeout(240)
def test_acknowledged_records_are_neither_lost_nor_duplicated_while_one_node_fails_at_a_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with fault_run(tmp_path, record_property) as (found, faults):
        chosen = [found.rng.choice(OF_PROCESSES)]  # in any case, a process dies or stops
        chosen += found.rng.sample([each for each in faults if each not in chosen], 2)
        for fault in found.rng.sample(chosen, 3):
            found.inject(fault)


@pytest.mark.soak
def test_nodes_fail_at_random_for_a_long_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    deadline = time.monotonic() + float(os.environ.get("SOAK_SECONDS", "300"))
    with fault_run(tmp_path, record_property) as (found, faults):
        while time.monotonic() < deadline:
            brief_s = found.rng.uniform(0.1, 2.5) if found.rng.random() < 0.3 else None
            found.inject(found.rng.choice(faults), brief_s)


@pytest.mark.timeout(180)
def test_the_leader_dies_another_takes_over_and_the_first_catches_up(tmp_path: Path) -> None:
    """The steps of the replication example: produce through any node, kill the leader, produce again, bring it back.

    First of a leader that is not the controller, then of one that is. Session and fetch timeouts are
    longer than the test: nothing waits for them.
    """
    with running_cluster(tmp_path, settings=PATIENT) as cluster:
        cluster.create_topic("walk", PARTITIONS)
        writer = SteadyWriter(cluster.nodes[3].bootstrap, "walk", PARTITIONS)
        eventually(lambda: writer.count > 50, "the first records")
        for is_controller in (False, True):
            leaders = [cluster.leader_of("walk", number) for number in range(PARTITIONS)]
            controller = cluster.controller()
            leader = next(each for each in leaders if (each == controller) is is_controller)
            cluster.nodes[leader].kill()
            before = writer.counts()
            eventually(
                lambda before=before: all(  # type: ignore[misc]  # a default of a lambda has no type
                    now > then + 50 for then, now in zip(before, writer.counts(), strict=True)
                ),
                "records of every partition through the new leader",
            )
            assert cluster.leader_of("walk", leaders.index(leader)) not in (leader, -1)
            cluster.nodes[leader].start()
            cluster.await_in_sync("walk")
        writer.stop()
        check_nothing_lost(writer, read_all(cluster.bootstrap, "walk", writer.ends()))


@pytest.mark.timeout(120)
def test_a_stopping_node_leaves_no_partition_without_a_leader(tmp_path: Path) -> None:
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
