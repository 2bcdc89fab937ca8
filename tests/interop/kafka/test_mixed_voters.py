"""Nodes of Kafka and of Penstock vote for each other, and either kind leads the metadata quorum."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.cli.cluster.state import QuorumState
from tests.interop.kafka.rolling import RollingCluster
from tests.support.plugin import require_kafka

PENSTOCK = (11, 12)
VOTERS = (1, 11, 12)


def caught_up(quorum: QuorumState) -> bool:
    return all(each.end_offset >= quorum.high_watermark - 10 for each in quorum.nodes if each.is_voter)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RollingCluster]:
    """Node 1 is Kafka's and began the cluster; 11 and 12 are Penstock's and have become voters."""
    made = RollingCluster(tmp_path, require_kafka(), 1, settings={"min.insync.replicas": "1"})
    try:
        made.start_kafka()
        for number in PENSTOCK:
            made.add_penstock_voter(number)
        made.await_voters(*VOTERS)
        yield made
    finally:
        made.close()


@pytest.mark.timeout(300)
def test_whichever_node_leads_and_dies_another_takes_over(cluster: RollingCluster) -> None:
    led: set[int] = set()
    for turn in range(4):
        leader = cluster.leader
        led.add(leader)
        cluster.node(leader).kill()
        cluster.await_quorum(lambda quorum, dead=leader: quorum.leader != dead, "another leads")  # type: ignore[misc]
        living = [each for each in VOTERS if each != leader]
        cluster.create_topic(f"after-{turn}", [living])
        cluster.node(leader).start()
        cluster.await_quorum(caught_up, "all have the log")
    assert len(led) > 1
    cluster.await_healthy()
    assert {f"after-{turn}" for turn in range(4)} <= {each.topic for each in cluster.state().partitions}


@pytest.mark.timeout(300)
def test_all_voters_stop_at_once_and_find_each_other_again(cluster: RollingCluster) -> None:
    """A node of Penstock trusts Kafka's before it knows what of its log is committed."""
    cluster.create_topic("kept", [[*VOTERS]])
    cluster.produce("kept", 0, b"before")
    everyone = [cluster.node(each) for each in VOTERS]
    for each in everyone:
        each.kill()
    with ThreadPoolExecutor(len(everyone)) as pool:
        list(pool.map(lambda each: each.start(), everyone))
    cluster.await_healthy()
    cluster.produce("kept", 0, b"after")
    assert {each.node for each in cluster.quorum().nodes if each.is_voter} == set(VOTERS)


@pytest.mark.timeout(300)
def test_a_node_of_kafka_and_a_node_of_penstock_leave_and_the_rest_go_on(cluster: RollingCluster) -> None:
    cluster.add_kafka_voter(2)
    cluster.await_voters(*VOTERS, 2)
    for leaving, remaining in ((1, (2, 11, 12)), (11, (2, 12))):
        cluster.remove(leaving)
        cluster.await_voters(*remaining)
        cluster.create_topic(f"without-{leaving}", [[2, 12]])
    cluster.await_healthy()
