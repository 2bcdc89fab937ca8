"""What the quorum does: one node leads in an epoch, all apply the same records, and what was promised stays."""

import asyncio
import hashlib

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.wire import Buffer
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class SettingChange(msgspec.Struct, frozen=True, eq=False):
    """A request to change one setting. Two requests are different even when they ask for the same."""

    resource_type: int
    resource_name: str
    name: str
    value: str | None
    """None removes the setting."""
    replaced: tuple["SettingChange", ...]
    """The changes that were acknowledged before this one was sent: this one comes after them."""

    @property
    def key(self) -> tuple[int, str, str]:
        return self.resource_type, self.resource_name, self.name


class MetadataChecker:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict
        self.leaders: dict[int, int] = {}
        self.topics: dict[str, int] = {}
        """Topics that must be there, with the partitions they have at least."""
        self.topics_deleted: set[str] = set()
        self._acknowledged: dict[tuple[int, str, str], list[SettingChange]] = {}
        """The changes of each setting of which one is the last: none was sent after another was acknowledged."""
        self._unanswered: list[SettingChange] = []
        self.uncertain: set[str] = set()
        """Topics of which a request was not answered, that may be carried out at any time."""
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self.snapshots_installed = 0
        """By nodes that had applied something before."""
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

    def installs(self, who: str) -> None:
        """A node that runs gets a snapshot in the place of records."""
        self.snapshots_installed += 1
        for waiter in self._waiting.pop(who, ()):
            if not waiter.done():
                waiter.set_result(None)

    def next_install(self, who: str) -> "asyncio.Future[None]":
        """Done when this node gets its next snapshot."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, []).append(waiter)
        return waiter

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
        self.topics_deleted.discard(topic)
        self.topics[topic] = max(partition_count, self.topics.get(topic, 0))

    def deleting(self, topic: str) -> None:
        """From now on it may be gone, and its settings with it."""
        self.topics.pop(topic, None)
        self._acknowledged = {key: each for key, each in self._acknowledged.items() if key[1] != topic}

    def deleted(self, topic: str) -> None:
        """It is gone, somebody was told."""
        self.topics_deleted.add(topic)

    def sends_change(
        self, resource_type: int, resource_name: str, name: str, value: str | None
    ) -> SettingChange:
        """A request to change a setting is sent: until it is answered it may be carried out at any time."""
        replaced = tuple(self._acknowledged.get((resource_type, resource_name, name), ()))
        change = SettingChange(resource_type, resource_name, name, value, replaced)
        self._unanswered.append(change)
        return change

    def acknowledges_change(self, change: SettingChange) -> None:
        """A setting was changed.

        Requests that were under way at the same time are carried out in any order, whatever the order of their answers.
        """
        self._unanswered.remove(change)
        others = self._acknowledged.get(change.key, [])
        self._acknowledged[change.key] = [*(each for each in others if each not in change.replaced), change]

    def ends_with(self, who: str, image: MetadataImage) -> None:
        for name, count in self.topics.items():
            if name in self.uncertain:
                continue
            topic = image.topics.get(name)
            if topic is None or len(topic.partitions) < count:
                self._verdict.fail(
                    "committed metadata", f"{who} does not know all {count} partitions of {name}"
                )
        for key, acknowledged in self._acknowledged.items():
            kind, resource, name = key
            found = image.configs.get((kind, resource), {}).get(name)
            unanswered = [each for each in self._unanswered if each.key == key]
            if found not in [each.value for each in (*acknowledged, *unanswered)]:
                values = " or ".join(str(each.value) for each in acknowledged)
                self._verdict.fail(
                    "committed metadata",
                    f"{who} has {name}={found} for {resource!r}, which was set to {values}",
                )
        for name in (self.topics_deleted & set(image.topics)) - self.uncertain:
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
