"""Checks the quorum: one node leads in an epoch, all nodes apply the same records, and acknowledged changes stay."""

import hashlib

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.wire import Buffer
from penstock_simulation.cluster.checkers.checker import Waiters
from penstock_simulation.violation import ViolationLog

_INVARIANT = "committed metadata"


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
    def __init__(self, violations: ViolationLog) -> None:
        self._violations = violations
        self.leaders: dict[int, int] = {}
        """The leader of each epoch of the quorum."""
        self.topics: dict[str, int] = {}
        """Topics that must exist, with their minimal number of partitions."""
        self.topics_deleted: set[str] = set()
        self._acknowledged: dict[tuple[int, str, str], list[SettingChange]] = {}
        """Candidates for each setting's last change: none was sent after another was acknowledged."""
        self._unanswered: list[SettingChange] = []
        self.uncertain: set[str] = set()
        """Topics with an unanswered request, which may be carried out at any time."""
        self.snapshot_waiters: Waiters[str, None] = Waiters()
        self.snapshots_installed = 0
        """Counts snapshots of nodes that had applied records before."""
        self._applied: dict[int, tuple[int, bytes]] = {}
        self._images: dict[int, dict[str, object]] = {}

    # -- the quorum -----------------------------------------------------------------------------------

    def on_leader(self, leader_id: int | None, epoch: int) -> None:
        """A node has learned which node leads the quorum in an epoch."""
        if leader_id is None:
            return
        known = self.leaders.setdefault(epoch, leader_id)
        if known != leader_id:
            detail = f"nodes {known} and {leader_id} both lead the quorum in epoch {epoch}"
            self._violations.report("one controller", detail)

    def on_applied(self, node: str, batches: Buffer) -> None:
        """A node applies committed batches: all nodes apply the same batch at an offset."""
        data = bytes(batches)
        for pos, header in iter_batches_strict(data):
            batch = data[pos : pos + header.size_bytes]
            digest = (header.leader_epoch, hashlib.blake2b(batch, digest_size=8).digest())
            if self._applied.setdefault(header.base_offset, digest) != digest:
                detail = f"{node} applied a different batch at offset {header.base_offset}"
                self._violations.report(_INVARIANT, detail)

    def on_snapshot_installed(self, node: str) -> None:
        """A running node replaces its state by a snapshot."""
        self.snapshots_installed += 1
        self.snapshot_waiters.resolve(node, None)

    def on_image(self, node: str, image: MetadataImage) -> None:
        """A node has applied all up to an offset: every node has the same image there."""
        found = facts_of(image)
        known = self._images.setdefault(image.offset, found)
        for name, fact in known.items():
            if found[name] != fact:
                detail = f"{node} has other {name} at offset {image.offset}: {found[name]} instead of {fact}"
                self._violations.report(_INVARIANT, detail)

    # -- administrators -------------------------------------------------------------------------------

    def on_created(self, topic: str, partition_count: int) -> None:
        """A topic was acknowledged to have at least this many partitions."""
        self.topics_deleted.discard(topic)
        self.topics[topic] = max(partition_count, self.topics.get(topic, 0))

    def on_delete_sent(self, topic: str) -> None:
        """From now on a topic and its settings may be gone."""
        self.topics.pop(topic, None)
        self._acknowledged = {key: each for key, each in self._acknowledged.items() if key[1] != topic}

    def on_deleted(self, topic: str) -> None:
        """The deletion of a topic was acknowledged."""
        self.topics_deleted.add(topic)

    def on_change_sent(
        self, resource_type: int, resource_name: str, name: str, value: str | None
    ) -> SettingChange:
        """A change of a setting is sent: until it is answered it may be carried out at any time."""
        replaced = tuple(self._acknowledged.get((resource_type, resource_name, name), ()))
        change = SettingChange(resource_type, resource_name, name, value, replaced)
        self._unanswered.append(change)
        return change

    def on_changed(self, change: SettingChange) -> None:
        """A change was acknowledged.

        Requests in flight at the same time are carried out in any order, whatever the order of their answers.
        """
        self._unanswered.remove(change)
        others = self._acknowledged.get(change.key, [])
        self._acknowledged[change.key] = [*(each for each in others if each not in change.replaced), change]

    def check_final(self, node: str, image: MetadataImage) -> None:
        """Check a node's metadata at the end of a run."""
        for name, count in self.topics.items():
            topic = image.topics.get(name)
            if name not in self.uncertain and (topic is None or len(topic.partitions) < count):
                self._violations.report(_INVARIANT, f"{node} does not have all {count} partitions of {name}")
        for key, acknowledged in self._acknowledged.items():
            kind, resource, name = key
            found = image.configs.get((kind, resource), {}).get(name)
            unanswered = [each for each in self._unanswered if each.key == key]
            if found not in [each.value for each in (*acknowledged, *unanswered)]:
                values = " or ".join(str(each.value) for each in acknowledged)
                detail = f"{node} has {name}={found} for {resource!r}, which was set to {values}"
                self._violations.report(_INVARIANT, detail)
        for name in (self.topics_deleted & set(image.topics)) - self.uncertain:
            self._violations.report(_INVARIANT, f"{node} still has the deleted topic {name}")


def facts_of(image: MetadataImage) -> dict[str, object]:
    """Return the parts of an image that are equal on all nodes at the same offset."""
    return {
        "topics": {
            name: (topic.topic_id, dict(topic.partitions)) for name, topic in sorted(image.topics.items())
        },
        "brokers": dict(sorted(image.brokers.items())),
        "settings": {key: dict(each) for key, each in sorted(image.configs.items())},
        "features": image.features.finalized,
        "producer ids": image.next_producer_id,
    }
