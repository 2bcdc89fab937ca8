"""The context in which a group that assigns in epochs (KIP-848, KIP-932) handles a request."""

from typing import Generic, TypeVar

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.base.instant import Instant


class EpochGroupSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that apply to one group."""

    size_max: int = 2**31 - 1
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5000
    assignment_interval_ms: int = 1000
    """The least time between two target assignments (KIP-1263): members that join together cost one assignment."""


class ConsumerSettings(EpochGroupSettings, frozen=True, kw_only=True):
    assignors: tuple[str, ...] = ("uniform", "range")
    """The assignors that members may select; the first is the default."""
    allows_upgrade: bool = True
    allows_downgrade: bool = True
    classic_size_max: int = 2**31 - 1


class ShareSettings(EpochGroupSettings, frozen=True, kw_only=True):
    size_max: int = 200


S = TypeVar("S", bound=EpochGroupSettings)


class GroupContext(msgspec.Struct, Generic[S], frozen=True):
    image: MetadataImage
    now: Instant
    settings: S

    def topic_ids(self, names: frozenset[str]) -> frozenset[bytes]:
        """The ids of those topics that exist."""
        topics = self.image.topics
        return frozenset(topics[name].topic_id for name in names if name in topics)


ConsumerContext = GroupContext[ConsumerSettings]
ShareContext = GroupContext[ShareSettings]
