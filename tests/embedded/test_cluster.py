"""A cluster inside the test's process, with faults."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.embedded import Cluster
from penstock.embedded.topics import Topic


def eventually(is_so: Callable[[], bool]) -> None:
    """Poll, because nodes send no notifications; the test's time limit ends this."""
    while not is_so():
        time.sleep(0.01)


QUICK = {
    "broker.heartbeat.interval.ms": 100,
    "broker.session.timeout.ms": 700,
    "replica.lag.time.max.ms": 500,
}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3, topics={"orders": 1}, config=QUICK) as cluster:
        yield cluster


def test_a_killed_leader_is_replaced_without_a_lost_record_and_rejoins(cluster: Cluster) -> None:
    topic = cluster.topic("orders")
    topic.produce(b"one")
    leader = cluster.leader("orders")
    cluster.kill(leader)
    topic.produce(b"two")
    assert cluster.leader("orders") != leader
    cluster.restart(leader)
    eventually(lambda: leader in cluster.in_sync("orders"))
    topic.assert_values([b"one", b"two"])


def test_a_partitioned_leader_is_replaced_and_follows_when_the_link_is_healed(cluster: Cluster) -> None:
    topic = cluster.topic("orders")
    leader = cluster.leader("orders")
    topic.produce(b"one")
    cluster.isolate(leader)
    eventually(lambda: cluster.leader("orders") != leader)
    assert leader not in cluster.in_sync("orders")
    cluster.heal()
    eventually(lambda: cluster.in_sync("orders") == {1, 2, 3})
    topic.assert_values([b"one"])


def test_a_controller_with_a_failed_disk_is_replaced(cluster: Cluster) -> None:
    topic = cluster.create_topic("spread", 3)
    failed = cluster.controller
    led = next(number for number in range(3) if cluster.leader("spread", number) == failed)
    cluster.fail_disk(failed)
    topic.produce(b"one", partition=led)  # needs another controller, which has to learn of the failed disk
    assert cluster.controller != failed
    cluster.kill(failed)
    cluster.heal()
    cluster.restart(failed)
    eventually(lambda: failed in cluster.in_sync("spread", led))
    topic.assert_values([b"one"])


def test_producers_continue_when_the_disk_of_their_leader_fails_and_it_rejoins_when_it_is_repaired(
    cluster: Cluster,
) -> None:
    topic = cluster.create_topic("spread", 3, config={"min.insync.replicas": 2})
    alone = cluster.create_topic("alone", 3, replication_factor=1)
    for number in range(3):
        topic.produce(b"before", partition=number)
        alone.produce(b"before", partition=number)
    failed = next(node for node in cluster.nodes if node != cluster.controller)
    led = next(number for number in range(3) if cluster.leader("spread", number) == failed)
    cluster.fail_disk(failed)
    for _ in range(3):
        topic.produce(b"after", partition=led)
    eventually(lambda: not any(failed in cluster.in_sync("spread", number) for number in range(3)))
    assert failed not in {cluster.leader("spread", number) for number in range(3)}
    assert [each.value for each in alone.records()] == [b"before"] * 3, "its records can still be read"
    cluster.create_topic("late", 3, replication_factor=1)
    assert failed not in {cluster.leader("late", number) for number in range(3)}
    cluster.stop_node(failed)
    cluster.heal()
    cluster.restart(failed)
    eventually(lambda: failed in cluster.in_sync("spread", led))
    assert [each.value for each in topic.records() if each.partition == led] == [b"before", *[b"after"] * 3]


def test_an_out_of_sync_follower_catches_up_with_a_leader_with_a_failed_disk_and_takes_over(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    topic = cluster.create_topic("pairs", 6, replication_factor=2)
    pair = next(number for number in range(6) if cluster.controller not in cluster.in_sync("pairs", number))
    leader = cluster.leader("pairs", pair)
    (follower,) = cluster.in_sync("pairs", pair) - {leader}
    cluster.partition(leader, follower)
    topic.produce(b"one", partition=pair)
    assert cluster.in_sync("pairs", pair) == {leader}
    cluster.fail_disk(leader)
    with ThreadPoolExecutor() as thread:
        producing = thread.submit(topic.produce, b"two", partition=pair)
        eventually(lambda: f"Disk failure on broker {leader}:" in caplog.text)
        assert cluster.leader("pairs", pair) == leader, "no other replica has the acknowledged records"
        cluster.heal()
        producing.result()
    assert cluster.leader("pairs", pair) == follower
    topic.assert_values([b"one", b"two"])


def test_a_stopped_node_hands_its_leaderships_over_and_slow_nodes_continue() -> None:
    async def use() -> None:
        async with Cluster(3, topics={"orders": 3}, config={"default.replication.factor": 2}) as cluster:
            topic = cluster.topic("orders")
            for node in cluster.nodes:
                cluster.slow(node, 2)
            leaders = {cluster.leader("orders", number) for number in range(3)}
            assert leaders == {1, 2, 3}
            cluster.stop_node(2)
            assert {cluster.leader("orders", number) for number in range(3)} == {1, 3}
            topic.produce(b"one", partition=1)
            assert [each.value for each in await topic.await_records()] == [b"one"]

    asyncio.run(use())


def test_dead_and_live_nodes_are_gone_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(threading.enumerate())
    with Cluster(2, storage="temporary", topics={"orders": 1}) as cluster:
        assert len(list(tmp_path.glob("*/node-*"))) == 2
        cluster.kill(2)
    assert set(threading.enumerate()) <= before
    assert list(tmp_path.iterdir()) == []


def test_a_killed_controller_is_replaced(cluster: Cluster) -> None:
    first = cluster.controller
    cluster.kill(first)
    assert cluster.controller != first
    cluster.create_topic("more")
    assert cluster.leader("more") != first


def test_an_unknown_node_is_reported_by_name() -> None:
    with Cluster(1) as cluster, pytest.raises(ValueError, match="there is no node 7: they are 1"):
        cluster.kill(7)
    with pytest.raises(ValueError, match="one node at least"):
        Cluster(0)


class _SlowToLearn(Cluster):
    """A cluster whose third node learns late of new topics."""

    def create_topic(self, name: str, *args: Any, **kwargs: Any) -> Topic:
        self.slow(3, 200)
        return super().create_topic(name, *args, **kwargs)


def test_every_node_knows_the_topics_when_the_cluster_has_started() -> None:
    with _SlowToLearn(3, topics={"orders": 1}) as cluster:
        assert [node.partition("orders", 0) is not None for node in cluster.nodes.values()] == [True] * 3
