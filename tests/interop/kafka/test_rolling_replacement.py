"""Three nodes of Apache Kafka are replaced by three of Penstock and those by Kafka again, under load throughout."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.kafka.load import COPIES, LOAD, Load
from tests.interop.kafka.rolling import RollingCluster
from tests.support.plugin import require_kafka

KAFKA, PENSTOCK, BACK = (1, 2, 3), (11, 12, 13), (21, 22, 23)
PARTITIONS = 6
PRODUCE_EVERY_S = 0.03  # the transactional loop must keep up on a busy machine


class Journal:
    """Prints what has happened, with the longest pauses of the clients up to then."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def note(self, event: str, load: Load | None = None) -> None:
        pauses = "" if load is None else f" {load.pauses()}"
        print(f"{time.monotonic() - self._began:6.1f} s  {event}{pauses}", flush=True)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RollingCluster]:
    made = RollingCluster(tmp_path, require_kafka())
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def load(cluster: RollingCluster, tmp_path: Path) -> Iterator[Load]:
    cluster.start_kafka()
    for topic in (LOAD, COPIES):
        cluster.create_topic(topic, [[*KAFKA[each % 3 :], *KAFKA[: each % 3]] for each in range(PARTITIONS)])
    bootstrap = f"{cluster.bootstrap},{cluster.plan_penstock(*PENSTOCK)}"
    made = Load(tmp_path, bootstrap, PARTITIONS, PRODUCE_EVERY_S)
    try:
        made.await_progress()
        yield made
    finally:
        print(made.failures, made.describe())
        made.close()


def replace(cluster: RollingCluster, load: Load, old: int, new: int, journal: Journal) -> None:
    """Bring the replicas and the vote of one node to another that has become a voter, and end the first."""
    journal.note(f"{new} is a voter", load)
    cluster.replace(old, new)
    journal.note(f"{new} has the replicas of {old}", load)
    cluster.remove(old)
    cluster.await_voters(*cluster.controllers)
    journal.note(f"{old} is gone", load)
    load.await_progress()


def crash(cluster: RollingCluster, load: Load, number: int, journal: Journal) -> None:
    """Kill a node, and start it again when the clients have gone on without it."""
    cluster.node(number).kill()
    load.await_progress()
    journal.note(f"{number} was killed, and the rest serve", load)
    cluster.node(number).start()
    cluster.await_healthy()
    journal.note(f"{number} is back", load)


@pytest.mark.timeout(540)
def test_kafka_is_replaced_by_penstock_and_penstock_by_kafka_under_load(
    cluster: RollingCluster, load: Load
) -> None:
    journal = Journal()
    ports = {number: cluster.kafka[number].port for number in KAFKA}
    for old, new in zip(KAFKA, PENSTOCK, strict=True):
        cluster.add_penstock_voter(new)
        cluster.await_voters(*cluster.controllers)
        replace(cluster, load, old, new, journal)
    assert cluster.leader in PENSTOCK
    cluster.allow_kafka_nodes()
    for old, new, was in zip(PENSTOCK, BACK, KAFKA, strict=True):
        cluster.add_kafka_voter(new, ports[was])
        cluster.await_voters(*cluster.controllers)
        replace(cluster, load, old, new, journal)
    load.finish()
    journal.note("every record is there, once and in order", load)


@pytest.mark.timeout(540)
def test_a_node_of_either_kind_dies_half_way_and_nothing_is_lost(cluster: RollingCluster, load: Load) -> None:
    journal = Journal()
    for old, new in zip(KAFKA[:2], PENSTOCK[:2], strict=True):
        cluster.add_penstock_voter(new)
        cluster.await_voters(*cluster.controllers)
        replace(cluster, load, old, new, journal)
        crash(cluster, load, new, journal)
        crash(cluster, load, KAFKA[2], journal)
    crash(cluster, load, cluster.leader, journal)
    load.finish()
    journal.note("every record is there, once and in order", load)
