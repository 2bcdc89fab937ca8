"""Share groups while the broker, members, both in turn, and the leader of a cluster are killed.

A confirmed acceptance is final: the record is not delivered again. No record is lost before it is accepted.
"""

import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType

from tests.crash.killing import chosen_seed
from tests.interop.groups import SHARE, Member, Members
from tests.interop.share_stage import SETTINGS, ShareMember, ShareStage, numbered
from tests.support.cluster import running_cluster
from tests.support.plugin import running_broker

OF_THREE = {
    **SETTINGS,
    "default.replication.factor": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}
SOAK_KILLS = int(os.environ.get("SOAK_KILLS", "50"))
MEMBERS = 3
PARTITIONS = 2
ROUND = 60


def decide_on_ten(stage: ShareStage) -> ShareMember:
    """A member that has accepted, rejected and released some of ten records, and holds the others."""
    stage.produce(numbered(10))
    member = stage.join()
    member.hold()
    assert member.decide(0, 1, 6) == set()
    assert member.decide(2, 3, how=AcknowledgeType.REJECT) == set()
    assert member.decide(4, 5, how=AcknowledgeType.RELEASE) == set()
    return member


# Records that were only acquired are delivered as if for the first time: the count is saved with the next decision.
AFTER_THE_KILL = [(4, 2), (5, 2), (7, 1), (8, 1), (9, 1)]


def test_acknowledgements_survive_a_kill_of_the_broker(tmp_path: Path) -> None:
    with running_broker(tmp_path, SETTINGS) as broker:
        stage = ShareStage(broker.bootstrap)
        decide_on_ten(stage)

        broker.kill()
        broker.start()

        assert sorted(stage.join().take(5)) == AFTER_THE_KILL
        stage.close()


def test_the_next_leader_continues_where_a_killed_one_stopped(tmp_path: Path) -> None:
    with running_cluster(tmp_path, settings=OF_THREE) as cluster:
        stage = ShareStage(cluster.bootstrap)
        decide_on_ten(stage)
        for topic in (stage.topic, "__share_group_state", "__consumer_offsets"):
            cluster.await_in_sync(topic)

        cluster.nodes[cluster.leader_of(stage.topic)].kill()

        assert sorted(stage.join().take(5)) == AFTER_THE_KILL
        stage.produce(numbered(1))
        assert stage.join().take(1) == [(10, 1)]
        stage.close()


class MemberProcesses:
    """Members as processes, and all records delivered to them."""

    def __init__(self, bootstrap: str) -> None:
        self.stage = ShareStage(bootstrap, PARTITIONS)
        self._bootstrap = bootstrap
        self._members = Members()
        self._working: list[Member] = []
        self._all: list[Member] = []
        self._produced: list[str] = []

    def start_member(self) -> None:
        arguments = {"bootstrap": self._bootstrap, "group": self.stage.group, "topic": self.stage.topic}
        self._working.append(self._members.start(SHARE, **arguments))
        self._all.append(self._working[-1])

    def kill_one(self) -> None:
        self._working.pop(0).kill()

    def work(self) -> None:
        """Produce more records, and wait until some are accepted."""
        done = len(self._members.values())
        for partition in range(PARTITIONS):
            values = numbered(ROUND // PARTITIONS, len(self._produced))
            self.stage.produce(values, batch=5, partition=partition)
            self._produced += values
        self._members.until(lambda: len(self._members.values()) > done, "some work done")

    def check(self) -> None:
        """Each record was accepted once; the outcome of one that was acquired when a process died may be unknown."""

        def is_all_known() -> bool:
            return set(self._produced) <= {*self._members.values(), *self._unconfirmed()}

        self._members.until(is_all_known, "all work done")
        twice = [value for value, count in Counter(self._members.values()).items() if count > 1]
        assert not twice, f"accepted twice: {twice[:10]}"

    def _unconfirmed(self) -> set[str]:
        """Records acquired by members that died or got no answer."""
        unconfirmed = [each for each in self._all if each not in self._working or each.refused]
        return {value for member in unconfirmed for _, _, value in member.held} - set(self._members.values())

    def end(self) -> None:
        self._members.end()
        self.stage.close()


def survive(bootstrap: str, kills: int, seed: int, kill_a_broker: Callable[[random.Random], None]) -> None:
    print(f"CRASH_SEED={seed}")
    dice = random.Random(seed)
    crew = MemberProcesses(bootstrap)
    try:
        for _ in range(MEMBERS):
            crew.start_member()
        for _ in range(kills):
            crew.work()
            if dice.random() < 0.5:
                crew.kill_one()
                crew.start_member()
            else:
                kill_a_broker(dice)
        crew.work()
        crew.check()
    finally:
        crew.end()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_each_record_is_accepted_once_through_fifty_kills(tmp_path: Path) -> None:
    with running_broker(tmp_path, SETTINGS) as broker:

        def kill(_dice: random.Random) -> None:
            broker.kill()
            broker.start()

        survive(broker.bootstrap, SOAK_KILLS, chosen_seed(), kill)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_each_record_is_accepted_once_while_brokers_of_a_cluster_are_killed(tmp_path: Path) -> None:
    with running_cluster(tmp_path, settings=OF_THREE) as cluster:

        def kill(dice: random.Random) -> None:
            for node in cluster.nodes.values():
                if not node.is_running:
                    node.start()
            for topic in ("__share_group_state", "__consumer_offsets"):
                cluster.await_in_sync(topic)
            cluster.nodes[dice.choice(list(cluster.nodes))].kill()

        survive(cluster.bootstrap, SOAK_KILLS, chosen_seed(), kill)
