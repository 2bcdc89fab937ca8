"""Eligible leader replicas (KIP-966) are cleared in the decision that lets the in-sync set commit without them."""

import random
from collections.abc import Mapping

import pytest

from penstock.cluster.controller.alter_configs import (
    Operation,
    ResourceChanges,
    SettingChange,
    decide_alter_configs,
    decide_incremental_alter_configs,
)
from penstock.cluster.controller.broker_health import decide_fence, decide_unfence
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.controller.settings_review import decide_settings_review
from penstock.cluster.metadata.image import ResourceType
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION, NO_LEADER, Partition
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import ConfigRecord, MetadataRecord, PartitionChangeRecord
from tests.cluster.support import commit, image_of

MIN_ISR = "min.insync.replicas"
Resource = tuple[ResourceType, str]
TOPIC = (ResourceType.TOPIC, "t")
OTHER = (ResourceType.TOPIC, "other")
DEFAULT = (ResourceType.BROKER, "")
LEADER = (ResourceType.BROKER, "1")
CONTROLLER = (ResourceType.BROKER, "3")


class Cluster:
    """Brokers 1 to 3, the controller on 3, with topics on 1 and 2. Broker 2 has died, and is eligible.

    `in_file` are the settings of the controller's file.
    """

    def __init__(self, settings: Mapping[Resource, str], in_file: str = "1") -> None:
        self.image = image_of(brokers=3)
        self.image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
        self.in_file = in_file
        randomness = random.Random(1)
        topics = [NewTopic(name=name, assignments=[(0, (1, 2))]) for name in ("t", "other")]
        commit(self.image, decide_create_topics(self.image, self.config, topics, randomness).records)
        for resource, value in {OTHER: "2", **settings}.items():
            self.alter(resource, value)
        self.dies(2)
        assert self.sets() == ((1,), (2,))

    @property
    def config(self) -> BrokerConfig:
        image = self.image
        static = BrokerConfig({"node.id": "3", MIN_ISR: self.in_file})
        return static.with_dynamic(cluster_wide=image.cluster_settings(), per_broker=image.broker_settings(3))

    def alter(
        self, resource: Resource, value: str | None, *, name: str = MIN_ISR, full: bool = False
    ) -> list[MetadataRecord]:
        """Set a setting, or remove it; gives the records of the decision."""
        change = SettingChange(name, Operation.DELETE if value is None else Operation.SET, value)
        changes = ResourceChanges(resource_type=resource[0], resource_name=resource[1], changes=[change])
        decide = decide_alter_configs if full else decide_incremental_alter_configs
        records, (result,) = decide(self.image, self.config, [changes])
        assert result.error is ErrorCode.NONE, result.message
        commit(self.image, records)
        return records

    def dies(self, broker_id: int) -> None:
        commit(self.image, decide_fence(self.image, self.config, broker_id).records)

    def returns(self, broker_id: int) -> None:
        commit(self.image, decide_unfence(self.image, self.config, broker_id).records)

    def partition(self, topic: str = "t") -> Partition:
        found = self.image.partition(topic, 0)
        assert found is not None
        return found

    def sets(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The in-sync and the eligible replicas."""
        return self.partition().isr, self.partition().elr


@pytest.mark.parametrize(
    ("before", "resource", "value"),
    [
        pytest.param({TOPIC: "2"}, TOPIC, "1", id="of the topic"),
        pytest.param({TOPIC: "2"}, TOPIC, None, id="of the topic, removed"),
        pytest.param({DEFAULT: "2"}, TOPIC, "1", id="of the topic, which had none"),
        pytest.param({DEFAULT: "2"}, DEFAULT, "1", id="of the cluster"),
        pytest.param({}, LEADER, "1", id="of the leader"),
        pytest.param({}, CONTROLLER, "1", id="of the controller"),
        pytest.param({LEADER: "2", TOPIC: "2"}, TOPIC, None, id="of the topic, removed where brokers differ"),
    ],
)
def test_a_setting_that_lets_the_in_sync_set_commit_alone_clears_the_eligible_replicas_with_it(
    before: Mapping[Resource, str], resource: Resource, value: str | None
) -> None:
    """A single broker can have another value only in a cluster of an earlier version, without a common default."""
    cluster = Cluster(before, in_file="1" if before else "2")
    records = cluster.alter(resource, value)
    assert cluster.sets() == ((1,), ())
    assert [type(each) for each in records] == [ConfigRecord, PartitionChangeRecord], "in one batch"
    assert cluster.partition("other").elr == (2,), "it has a setting of its own"


def test_a_request_that_replaces_all_settings_clears_them_too() -> None:
    cluster = Cluster({TOPIC: "2"})
    cluster.alter(TOPIC, "5", name="retention.ms", full=True)
    assert cluster.sets() == ((1,), ())


def test_cleared_eligible_replicas_stay_cleared_when_the_setting_is_restored() -> None:
    """Between the two changes the leader may have committed alone, whether or not anything else happened."""
    cluster = Cluster({TOPIC: "2"})
    cluster.alter(TOPIC, "1")
    cluster.alter(TOPIC, "2")
    cluster.dies(1)
    cluster.returns(2)
    assert (cluster.partition().leader, cluster.sets()) == (NO_LEADER, ((), (1,)))
    cluster.returns(1)
    assert cluster.partition().leader == 1


def test_a_setting_that_requires_more_replicas_keeps_the_eligible_ones() -> None:
    cluster = Cluster({TOPIC: "2"})
    assert [type(each) for each in cluster.alter(TOPIC, "3")] == [ConfigRecord]
    assert cluster.sets() == ((1,), (2,)), "nothing was committed without it before, nor will be"


def test_eligible_replicas_of_an_empty_in_sync_set_are_kept_until_one_of_them_leads() -> None:
    """Kafka clears them: then only an unclean election is possible."""
    cluster = Cluster({TOPIC: "2"})
    cluster.dies(1)
    cluster.alter(TOPIC, "1")
    assert cluster.sets() == ((), (1, 2))
    cluster.returns(2)
    assert (cluster.partition().leader, cluster.sets()) == (2, ((2,), ()))


def test_other_settings_change_no_partition() -> None:
    cluster = Cluster({TOPIC: "2"})
    assert [type(each) for each in cluster.alter(TOPIC, "5", name="retention.ms")] == [ConfigRecord]


def test_the_lowest_value_that_a_leader_may_use_counts() -> None:
    cluster = Cluster({}, in_file="2")
    cluster.alter(CONTROLLER, "3")
    assert cluster.sets() == ((1,), (2,))
    cluster.alter(DEFAULT, "1")
    assert cluster.sets() == ((1,), ()), "the leader may have other settings than the controller's broker"


@pytest.mark.parametrize(("in_file", "elr"), [("1", ()), ("2", (2,))])
def test_a_new_active_controller_clears_eligible_replicas_by_its_own_file(
    in_file: str, elr: tuple[int, ...]
) -> None:
    """As after a rolling restart with another default. Until then the leader commits nothing, whatever its file."""
    cluster = Cluster({}, in_file="2")
    assert not cluster.partition().may_commit(1)
    cluster.in_file = in_file
    commit(cluster.image, decide_settings_review(cluster.image, cluster.config).records)
    assert cluster.sets() == ((1,), elr)
    assert cluster.partition().may_commit(1) == (elr == ())
