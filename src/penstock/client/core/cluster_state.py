"""The metadata and coordinators that a client and its branches have learned. Several threads may use it."""

from typing import Final

import msgspec

from penstock.client.core.destinations import CoordinatorOf, Destination, LeaderOf, Role
from penstock.client.core.steps import Address
from penstock.client.metadata import Metadata

_METADATA_AGE_MAX_MS: Final = 60_000


class ClusterState:
    __slots__ = ("coordinators", "metadata", "read_at_ms", "stale_topics")

    def __init__(self) -> None:
        self.metadata = Metadata()
        self.read_at_ms: dict[str, float] = {}
        self.stale_topics: frozenset[str] = frozenset()  # a request found that their metadata is wrong
        self.coordinators: dict[CoordinatorOf, Address] = {}

    def update(self, newer: Metadata, asked: frozenset[str] | None, now_ms: float) -> None:
        """Take a Metadata response about the topics `asked` (None: all)."""
        self.metadata = self.metadata.updated(newer, asked)
        kept = {name: at for name, at in self.read_at_ms.items() if name in self.metadata.topics}
        self.read_at_ms = {**kept, **dict.fromkeys(newer.topics, now_ms)}
        self.stale_topics -= newer.topics.keys() if asked is None else asked

    def is_fresh(self, topic: str, now_ms: float, stale_age_max_ms: float) -> bool:
        """Whether the cached metadata may be used. Stale metadata is used for a moment, to limit refreshes."""
        if topic not in self.read_at_ms:
            return False
        age_ms = now_ms - self.read_at_ms[topic]
        return age_ms <= (stale_age_max_ms if topic in self.stale_topics else _METADATA_AGE_MAX_MS)

    def forget(self, to: Destination) -> None:
        """Look up this destination again before the next request."""
        if isinstance(to, LeaderOf):
            self.stale_topics |= {to.topic}
        elif isinstance(to, CoordinatorOf):
            self.coordinators.pop(to, None)
        elif isinstance(to, Role):
            self.metadata = msgspec.structs.replace(self.metadata, controller_id=-1)
        else:
            brokers = {node: address for node, address in self.metadata.brokers.items() if node != to}
            self.metadata = msgspec.structs.replace(self.metadata, brokers=brokers)

    def forget_topic(self, name: str) -> None:
        """The topic was created or deleted."""
        self.read_at_ms = {each: at for each, at in self.read_at_ms.items() if each != name}
        topics = {each: topic for each, topic in self.metadata.topics.items() if each != name}
        self.metadata = msgspec.structs.replace(self.metadata, topics=topics)
