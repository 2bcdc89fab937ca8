import random

import pytest

from penstock.cluster.controller.create_partitions import NewPartitions, decide_create_partitions
from penstock.cluster.controller.decision import Refusal
from penstock.cluster.controller.follow_source import EPOCHS_AHEAD, SourceTopic, decide_adopted
from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.metadata.mirrors import MirrorState, TopicState
from penstock.cluster.metadata.state import Partition
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.metadata_records import RemoveTopicRecord
from tests.cluster.controller.mirror_stage import (
    SETTINGS,
    SOURCE,
    change,
    follow,
    image_with_mirror,
    state_of,
    there,
)
from tests.cluster.support import commit, with_topic


def partition_of(image: MetadataImage, number: int = 0) -> Partition:
    partition = image.partition("orders", number)
    assert partition is not None
    return partition


def test_a_topic_is_created_read_only_with_leader_epochs_above_the_sources() -> None:
    image = image_with_mirror()
    followed = follow(image, there("orders", 3, 5, retention_ms="1000"))
    assert followed.troubles == {}
    assert state_of(image) is MirrorState.RUNNING
    assert image.is_read_only("orders")
    assert [partition_of(image, n).leader_epoch for n in (0, 1)] == [3 + EPOCHS_AHEAD, 5 + EPOCHS_AHEAD]
    assert len(partition_of(image).replicas) == 3
    assert image.topic_settings("orders") == {"retention.ms": "1000"}
    mirror, topic = image.mirror("m"), image.mirrored_topic("orders")
    assert mirror is not None
    assert mirror.source_cluster == SOURCE
    assert topic is not None
    assert topic.source_topic_id == bytes([7]) * 16


def test_leader_epochs_are_raised_when_the_source_overtakes_them_and_the_leader_stays() -> None:
    image = image_with_mirror()
    follow(image, there("orders", 3))
    before = partition_of(image)
    follow(image, there("orders", 3 + EPOCHS_AHEAD))
    assert partition_of(image) == before
    follow(image, there("orders", 4 + EPOCHS_AHEAD))
    after = partition_of(image)
    assert after.leader_epoch == 4 + 2 * EPOCHS_AHEAD
    assert (after.leader, after.isr, after.partition_epoch) == (
        before.leader,
        before.isr,
        before.partition_epoch + 1,
    )


def test_new_partitions_and_settings_follow_and_settings_about_replicas_stay() -> None:
    image = image_with_mirror()
    follow(image, there("orders", 3, cleanup_policy="compact"))
    follow(image, there("orders", 3, 0, min_insync_replicas="2", retention_ms="5", unknown_here="x"))
    topic = image.topic("orders")
    assert topic is not None
    assert list(topic.partitions) == [0, 1]
    assert image.topic_settings("orders") == {"retention.ms": "5"}


def test_nothing_is_created_while_a_topic_exists_here() -> None:
    image = image_with_mirror()
    with_topic(image, "orders")
    followed = follow(image, there("orders"), there("orders-2"))
    assert "The topic exists here and is not a mirror" in followed.troubles["orders"]
    assert state_of(image) is MirrorState.CHECKING
    assert "orders-2" not in image.topics


def test_a_running_mirror_goes_on_with_the_other_topics() -> None:
    image = image_with_mirror()
    follow(image)
    with_topic(image, "orders")
    followed = follow(image, there("orders"), there("orders-2"))
    assert list(followed.troubles) == ["orders"]
    assert image.is_read_only("orders-2")
    assert not image.is_read_only("orders")


def test_the_source_must_be_another_cluster_and_stay_the_same() -> None:
    image = image_with_mirror()
    with pytest.raises(Refusal, match="is this cluster itself"):
        follow(image, cluster_id=image.cluster_id)
    follow(image, there())
    with pytest.raises(Refusal, match="is cluster other now, and was cluster source-cluster"):
        follow(image, there(), cluster_id="other")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (there("orders", 3, 3, topic_id=8), "was deleted at the source and created again"),
        (there("orders", 3), "has 2 partitions here and 1 at the source"),
        (None, "The source has no such topic any more"),
    ],
)
def test_another_topic_of_the_same_name_changes_nothing(source: SourceTopic | None, reason: str) -> None:
    image = image_with_mirror()
    follow(image, there("orders", 3, 3))
    before = partition_of(image)
    followed = follow(image, *(() if source is None else (source,)))
    assert reason in followed.troubles["orders"]
    assert partition_of(image) == before


def test_a_paused_mirror_decides_nothing() -> None:
    image = image_with_mirror()
    follow(image, there())
    change(image, state="paused")
    assert follow(image, there("orders", 3, 3), there("orders-2")).troubles == {}
    assert list(image.topics) == ["orders"]


def test_clients_cannot_add_partitions() -> None:
    image = image_with_mirror()
    follow(image, there())
    records, (result,) = decide_create_partitions(
        image, [NewPartitions(name="orders", count=2)], random.Random(1)
    )
    assert records == []
    assert result.error is ErrorCode.POLICY_VIOLATION


def test_an_adopted_topic_is_an_ordinary_mirror_once_all_its_partitions_are_the_same() -> None:
    image = image_with_mirror(settings={**SETTINGS, "may.adopt.topics": "true"})
    with_topic(image, "orders", partitions=2)
    follow(image, there("orders", 5, 0))
    topic = image.mirrored_topic("orders")
    assert topic is not None
    assert topic.state is TopicState.ADOPTED
    assert partition_of(image).leader_epoch == 5 + EPOCHS_AHEAD
    for same, state in (
        ({("orders", 0)}, TopicState.ADOPTED),
        ({("orders", 0), ("orders", 1)}, TopicState.MIRRORING),
    ):
        commit(image, decide_adopted(image, "m", same).records)
        found = image.mirrored_topic("orders")
        assert found is not None
        assert found.state is state


def test_a_deleted_topic_is_no_mirror_any_more() -> None:
    image = image_with_mirror()
    follow(image, there())
    topic = image.topic("orders")
    assert topic is not None
    commit(image, [RemoveTopicRecord(topic_id=topic.topic_id)])
    assert image.mirrored_topic("orders") is None
