"""The consumer protocol that classic members embed in their joins and syncs: `i16 version`, then the message."""

import struct
from collections.abc import Iterable

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.base.assignment import Assignment
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages import consumer_protocol_assignment, consumer_protocol_subscription
from penstock.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from penstock.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

_VERSION = struct.Struct(">h")
_VERSION_MAX = consumer_protocol_subscription.VERSIONS.stop - 1


def version_of(metadata: bytes) -> int:
    """Return the version, or the newest known one for a newer client."""
    if len(metadata) < _VERSION.size:
        raise ProtocolError("the embedded consumer protocol has no version")
    return min(int(_VERSION.unpack_from(metadata)[0]), _VERSION_MAX)


def decode_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Raises `ProtocolError`."""
    return consumer_protocol_subscription.decode(metadata, version_of(metadata), _VERSION.size)


def decode_assignment(assignment: bytes, image: MetadataImage) -> Assignment:
    """Return the assigned partitions of existing topics. Raises `ProtocolError`."""
    if not assignment:
        return {}
    decoded = consumer_protocol_assignment.decode(assignment, version_of(assignment), _VERSION.size)
    return by_topic_id(((each.topic, each.partitions) for each in decoded.assigned_partitions), image)


def encode_assignment(assignment: Assignment, metadata: bytes, image: MetadataImage) -> bytes:
    """Encode in the version of the member's own metadata."""
    version = version_of(metadata)
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartition(topic=topic.name, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assignment.items())
            if (topic := image.topics_by_id.get(topic_id)) is not None
        ]
    )
    return _VERSION.pack(version) + consumer_protocol_assignment.encode(message, version)


def by_topic_id(topics: Iterable[tuple[str, Iterable[int]]], image: MetadataImage) -> Assignment:
    found: dict[bytes, frozenset[int]] = {}
    for name, partitions in topics:
        topic = image.topics.get(name)
        numbers = frozenset(partitions)
        if topic is not None and numbers:
            found[topic.topic_id] = numbers | found.get(topic.topic_id, frozenset())
    return found
