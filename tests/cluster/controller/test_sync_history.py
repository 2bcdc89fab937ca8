"""A broker that crashed is judged by every `flush.messages` that it may have run with, not by the present one."""

import random
from collections.abc import Mapping

import msgspec
import pytest

from penstock.cluster.controller.alter_configs import (
    Operation,
    ResourceChanges,
    SettingChange,
    decide_incremental_alter_configs,
)
from penstock.cluster.controller.broker_health import decide_fence, decide_unfence
from penstock.cluster.controller.brokers import decide_register_broker
from penstock.cluster.controller.create_topics import NewTopic, decide_create_topics
from penstock.cluster.controller.delete_topics import TopicToDelete, decide_delete_topics
from penstock.cluster.controller.settings_review import decide_settings_review
from penstock.cluster.metadata import replay
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.cluster.metadata.snapshot import records_of
from penstock.cluster.metadata.state import ELIGIBLE_LEADER_REPLICAS_VERSION
from penstock.config.broker import BrokerConfig
from penstock.protocol.errors import ErrorCode
from tests.cluster.support import commit, image_of, registration

TOPIC = (ResourceType.TOPIC, "t")
DEFAULT = (ResourceType.BROKER, "")
BROKER = (ResourceType.BROKER, "2")
Resource = tuple[ResourceType, str]


class Cluster:
    """Brokers 1 to 3, the controller on 3, and a topic on 1 and 2. `in_file` is from the controller's file."""

    def __init__(self, settings: Mapping[Resource, str], in_file: str = "1") -> None:
        self.image = image_of(brokers=3)
        self.image.features.finalized[ELIGIBLE_LEADER_REPLICAS_VERSION] = 1
        self.in_file = in_file
        self.create()
        self.becomes_active()
        for resource, value in settings.items():
            self.alter(resource, value)

    @property
    def config(self) -> BrokerConfig:
        image = self.image
        static = BrokerConfig({"node.id": "3", "log.flush.interval.messages": self.in_file})
        return static.with_dynamic(cluster_wide=image.cluster_settings(), per_broker=image.broker_settings(3))

    def create(self) -> None:
        wanted = NewTopic(name="t", assignments=[(0, (1, 2))], configs=[("min.insync.replicas", "2")])
        randomness = random.Random(self.image.offset)
        commit(self.image, decide_create_topics(self.image, self.config, [wanted], randomness).records)

    def delete(self) -> None:
        records, _ = decide_delete_topics(self.image, self.config, [TopicToDelete(name="t")])
        commit(self.image, records)

    def becomes_active(self) -> None:
        commit(self.image, decide_settings_review(self.image, self.config).records)

    def alter(self, resource: Resource, value: str | None) -> None:
        name = "flush.messages" if resource is TOPIC else "log.flush.interval.messages"
        change = SettingChange(name, Operation.DELETE if value is None else Operation.SET, value)
        changes = ResourceChanges(resource_type=resource[0], resource_name=resource[1], changes=[change])
        records, (result,) = decide_incremental_alter_configs(self.image, self.config, [changes])
        assert result.error is ErrorCode.NONE, result.message
        commit(self.image, records)

    def crashes(self, *broker_ids: int) -> None:
        for broker_id in broker_ids:
            commit(self.image, decide_fence(self.image, self.config, broker_id).records)

    def returns(self, broker_id: int, previous_epoch: int = -1) -> None:
        broker = msgspec.structs.replace(registration(broker_id), previous_epoch=previous_epoch)
        epoch = self.image.offset + 1
        registered = decide_register_broker(self.image, self.config, broker, epoch=epoch, fenced=True)
        commit(self.image, registered.records)
        commit(self.image, decide_unfence(self.image, self.config, broker_id).records)

    def is_trusted(self) -> bool:
        """Whether broker 2, the first that returns after all have crashed, may lead."""
        self.crashes(1, 2)
        self.returns(2)
        partition = self.image.partition("t", 0)
        assert partition is not None
        return partition.leader == 2


WAYS = [
    pytest.param({TOPIC: "1000"}, TOPIC, "1", id="of the topic"),
    pytest.param({TOPIC: "1000"}, TOPIC, None, id="of the topic, removed"),
    pytest.param({DEFAULT: "1000"}, TOPIC, "1", id="of the topic, which had none"),
    pytest.param({DEFAULT: "1000"}, DEFAULT, "1", id="of the cluster"),
    pytest.param({DEFAULT: "1000"}, DEFAULT, None, id="of the cluster, removed"),
    pytest.param({BROKER: "1000"}, BROKER, None, id="of the broker, removed"),
]


@pytest.mark.parametrize(("before", "resource", "value"), WAYS)
def test_a_broker_that_crashed_before_syncs_were_required_is_not_trusted_when_it_returns(
    before: Mapping[Resource, str], resource: Resource, value: str | None
) -> None:
    cluster = Cluster(before)
    cluster.crashes(1, 2)
    cluster.alter(resource, value)
    assert not cluster.is_trusted()


@pytest.mark.parametrize(("before", "resource", "value"), WAYS)
def test_a_broker_that_crashed_just_after_the_change_is_not_trusted_because_it_may_not_have_read_it(
    before: Mapping[Resource, str], resource: Resource, value: str | None
) -> None:
    cluster = Cluster(before)
    cluster.alter(resource, value)
    assert not cluster.is_trusted()


@pytest.mark.parametrize(("before", "resource", "value"), WAYS)
def test_a_broker_that_has_restarted_since_then_is_trusted_again(
    before: Mapping[Resource, str], resource: Resource, value: str | None
) -> None:
    cluster = Cluster(before)
    cluster.alter(resource, value)
    cluster.returns(2, previous_epoch=cluster.image.brokers[2].epoch)
    cluster.becomes_active()
    assert _rejoined(cluster).is_trusted()


def _rejoined(cluster: Cluster) -> Cluster:
    """Both replicas are in sync again, as their leader has asked for."""
    partitions = cluster.image.topics["t"].partitions
    partitions[0] = msgspec.structs.replace(partitions[0], isr=(1, 2), elr=(), last_known_elr=())
    return cluster


def test_a_crashed_broker_is_trusted_for_a_topic_that_always_required_syncs() -> None:
    assert Cluster({TOPIC: "1"}).is_trusted()
    assert Cluster({TOPIC: "1", DEFAULT: "1000"}).is_trusted()


def test_a_default_from_a_file_is_kept_across_a_rolling_restart() -> None:
    cluster = Cluster({}, in_file="1000")
    cluster.in_file = "1"
    cluster.becomes_active()
    assert not cluster.is_trusted()


def test_a_recreated_topic_has_no_sync_history() -> None:
    cluster = Cluster({TOPIC: "1000"})
    cluster.alter(TOPIC, "1")
    cluster.delete()
    cluster.create()
    assert cluster.is_trusted()


def test_a_snapshot_keeps_the_sync_history() -> None:
    cluster = Cluster({TOPIC: "1000"})
    cluster.alter(TOPIC, "1")
    restored = MetadataImage("cluster")
    replay.apply(restored, records_of(cluster.image), cluster.image.offset)
    cluster.image = restored
    assert not cluster.is_trusted()
