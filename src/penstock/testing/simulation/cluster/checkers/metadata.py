"""What the quorum does: one node leads in an epoch, all apply the same records, and what was promised stays."""

import hashlib

from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.wire import Buffer
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class MetadataChecker:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.leaders: dict[int, int] = {}
        self.topics: dict[str, int] = {}
        """Topics that must be there, with the partitions they have at least."""
        self.topics_deleted: set[str] = set()
        self._applied: dict[int, tuple[int, bytes]] = {}
        self._images: dict[int, dict[str, object]] = {}

    # -- the quorum -----------------------------------------------------------------------------------

    def is_led_by(self, leader_id: int | None, epoch: int) -> None:
        """A node has learned who leads the quorum in an epoch."""
        if leader_id is None:
            return
        known = self.leaders.setdefault(epoch, leader_id)
        if known != leader_id:
            self._verdict.fail("one controller", f"{known} and {leader_id} lead the quorum in epoch {epoch}")

    def applies(self, who: str, batches: Buffer) -> None:
        """A node applies what is committed: no other ever applies another record there."""
        data = bytes(batches)
        for pos, header in iter_batches_strict(data):
            batch = data[pos : pos + header.size_bytes]
            digest = (header.leader_epoch, hashlib.blake2b(batch, digest_size=8).digest())
            if self._applied.setdefault(header.base_offset, digest) != digest:
                self._verdict.fail(
                    "committed metadata", f"{who} applies another batch at {header.base_offset}"
                )

    def has_image(self, who: str, image: MetadataImage) -> None:
        """A node has all up to an offset: every other has the same there."""
        found = facts_of(image)
        known = self._images.setdefault(image.offset, found)
        for name, fact in known.items():
            if found[name] != fact:
                self._verdict.fail(
                    "committed metadata",
                    f"{who}: {name} differ at offset {image.offset}: {fact} and {found[name]}",
                )

    # -- what administrators were told ----------------------------------------------------------------

    def created(self, topic: str, partition_count: int) -> None:
        """So many partitions of a topic are there, somebody was told."""
        self.topics[topic] = max(partition_count, self.topics.get(topic, 0))

    def deleting(self, topic: str) -> None:
        """From now on it may be gone."""
        self.topics.pop(topic, None)

    def deleted(self, topic: str) -> None:
        """It is gone, somebody was told."""
        self.topics_deleted.add(topic)

    def ends_with(self, who: str, image: MetadataImage) -> None:
        for name, count in self.topics.items():
            topic = image.topics.get(name)
            if topic is None or len(topic.partitions) < count:
                self._verdict.fail(
                    "committed metadata", f"{who} does not know all {count} partitions of {name}"
                )
        for name in self.topics_deleted & set(image.topics):
            self._verdict.fail("committed metadata", f"{who} knows {name}, which was deleted")


def facts_of(image: MetadataImage) -> dict[str, object]:
    """What must be equal where the offsets are."""
    return {
        "topics": {
            name: (topic.topic_id, dict(topic.partitions)) for name, topic in sorted(image.topics.items())
        },
        "brokers": dict(sorted(image.brokers.items())),
        "settings": {key: dict(each) for key, each in sorted(image.configs.items())},
        "features": image.features.finalized,
        "producer ids": image.next_producer_id,
    }
