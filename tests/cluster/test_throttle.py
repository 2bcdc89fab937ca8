from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.throttle import MeanRate, ReplicationThrottle
from penstock.config.broker import BrokerConfig
from penstock.config.overrides import topic_config
from penstock.runtime.clock import ManualClock


def test_a_rate_is_measured_over_the_time_since_the_oldest_sample() -> None:
    rate = MeanRate(3, 1000)
    rate.record(500, 0)
    assert rate.per_second(0) == 500, "over one sample at least, or the first byte would be endlessly fast"
    rate.record(500, 900)
    assert rate.per_second(1000) == 1000
    assert rate.per_second(2000) == 500


def test_a_sample_counts_until_all_samples_have_passed() -> None:
    rate = MeanRate(3, 1000)
    rate.record(600, 0)
    rate.record(300, 1500)
    assert rate.per_second(2999) == pytest.approx(300, rel=0.01)
    assert rate.per_second(3000) == 200, "the first is gone, and the time begins with the second"
    assert rate.per_second(10_000) == 0


def replica(listed: str, *, isr: tuple[int, ...] = (1,), number: int = 0) -> Replica:
    config = topic_config(BrokerConfig({}), {"leader.replication.throttled.replicas": listed})
    state = Partition(replicas=(1, 2, 3), isr=isr, leader=1, leader_epoch=0, partition_epoch=0)
    found = SimpleNamespace(log=SimpleNamespace(config=config), partition=number, state=state)
    return cast("Replica", found)


class Throttled:
    def __init__(self, bytes_per_second_max: int) -> None:
        self.clock = ManualClock()
        self.bytes_per_second_max = bytes_per_second_max
        self.throttle = ReplicationThrottle(
            1,
            MeanRate(10, 1000),
            self.clock,
            bytes_per_second_max=lambda: self.bytes_per_second_max,
            listed=lambda topic: topic.leader_replication_throttled_replicas,
        )


@pytest.mark.parametrize(
    ("listed", "covers"), [("", False), ("*", True), ("0:1", True), ("0:2,1:1", False), ("1:1,0:1", True)]
)
def test_a_topic_names_the_replicas_of_this_broker_that_are_throttled(listed: str, covers: bool) -> None:
    assert Throttled(10).throttle.covers(replica(listed)) is covers


def test_a_lagging_follower_waits_until_the_rate_has_dropped() -> None:
    here = Throttled(100)
    partition = replica("*")
    assert not here.throttle.holds_back(partition, 2)
    here.throttle.record(partition, 500)
    assert here.throttle.holds_back(partition, 2)
    here.clock.advance(4_999)
    assert here.throttle.holds_back(partition, 2)
    here.clock.advance(1)
    assert not here.throttle.holds_back(partition, 2)


def test_an_in_sync_follower_never_waits_but_its_bytes_count() -> None:
    here = Throttled(100)
    here.throttle.record(replica("*", isr=(1, 2)), 500)
    assert not here.throttle.holds_back(replica("*", isr=(1, 2)), 2)
    assert here.throttle.holds_back(replica("*", isr=(1, 2)), 3)


def test_an_unthrottled_partition_neither_waits_nor_counts() -> None:
    here = Throttled(100)
    here.throttle.record(replica(""), 500)
    assert not here.throttle.holds_back(replica("*"), 2)
    here.throttle.record(replica("*"), 500)
    assert not here.throttle.holds_back(replica(""), 2)


def test_a_changed_limit_applies_at_once() -> None:
    here = Throttled(100)
    here.throttle.record(replica("*"), 500)
    here.bytes_per_second_max = 500
    assert not here.throttle.holds_back(replica("*"), 2)
