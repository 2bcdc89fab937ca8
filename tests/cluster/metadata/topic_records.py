"""Records of a topic with one partition, and an image with them."""

from penstock.cluster.metadata import replay
from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.messages import metadata_records as mr

A, B = b"a" * 16, b"b" * 16


def partition(number: int = 0, topic_id: bytes = A) -> mr.PartitionRecord:
    return mr.PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )


def image_with_topic() -> MetadataImage:
    image = MetadataImage("c")
    replay.apply(image, [mr.TopicRecord(name="t.a", topic_id=A), partition()], 1)
    return image
