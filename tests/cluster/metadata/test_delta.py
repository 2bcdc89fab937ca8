from penstock.cluster.metadata import replay
from penstock.cluster.metadata.delta import difference
from penstock.cluster.metadata.image import MetadataImage, ResourceType
from penstock.protocol.messages import metadata_records as mr
from tests.cluster.metadata.topic_records import A, image_with_topic, partition


def test_the_delta_names_new_topics_and_partitions() -> None:
    image = MetadataImage("c")
    delta = replay.apply(image, [mr.TopicRecord(name="t", topic_id=A), partition(0), partition(1)], 2)
    assert list(delta.topics_created) == [A]
    assert [(key, change.before) for key, change in delta.partitions.items()] == [
        ((A, 0), None),
        ((A, 1), None),
    ]


def test_a_topic_created_and_deleted_in_one_batch_is_not_in_the_delta() -> None:
    image = MetadataImage("c")
    records: list[mr.MetadataRecord] = [
        mr.TopicRecord(name="t", topic_id=A),
        partition(),
        mr.RemoveTopicRecord(topic_id=A),
    ]
    delta = replay.apply(image, records, 2)
    assert (delta.topics_created, delta.topics_deleted, delta.partitions) == ({}, {}, {})
    assert delta.configs_changed == set()


def test_several_changes_in_one_batch_are_notified_as_one() -> None:
    image = image_with_topic()
    before = image.partition("t.a", 0)
    changes = [mr.PartitionChangeRecord(topic_id=A, partition_id=0, leader=2) for _ in range(2)]
    delta = replay.apply(image, changes, 3)
    (change,) = delta.partitions.values()
    assert change.before is before
    assert change.after.leader_epoch == 2


def test_the_difference_to_an_empty_image_is_everything() -> None:
    image = image_with_topic()
    replay.apply(
        image, [mr.ConfigRecord(resource_type=2, resource_name="t.a", name="retention.ms", value="1")], 2
    )
    delta = difference(MetadataImage("c"), image)
    assert list(delta.topics_created) == [A]
    assert [change.after for change in delta.partitions.values()] == [image.partition("t.a", 0)]
    assert delta.configs_changed == {(ResourceType.TOPIC, "t.a")}
    assert not delta.features_changed
    assert delta.last_offset == 2
