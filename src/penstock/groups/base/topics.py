"""The hash by which a group notices that its topics changed."""

import hashlib

from penstock.cluster.metadata.image import MetadataImage


def hash_topics(names: set[str], image: MetadataImage) -> int:
    """Return a number that changes when a topic is created, deleted, grows or moves to other racks (KIP-1101).

    0 when none of the topics exists. Other brokers may compute other hashes: a group that they wrote then gets one
    extra epoch.
    """
    topics = sorted(name for name in names if name in image.topics)
    if not topics:
        return 0
    racks = {broker.broker_id: broker.rack or "" for broker in image.brokers.values()}
    digest = hashlib.blake2b(digest_size=8)
    for name in topics:
        topic = image.topics[name]
        digest.update(b"%s%b%d;" % (name.encode(), topic.topic_id, len(topic.partitions)))
        if any(racks.values()):
            for partition in topic.partitions.values():
                digest.update(",".join(sorted({racks.get(each, "") for each in partition.replicas})).encode())
    return int.from_bytes(digest.digest(), "big", signed=True) or 1
