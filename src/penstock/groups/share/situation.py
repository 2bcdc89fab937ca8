"""What a share group is told of the world around it with every request."""

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.moment import Moment


class ShareSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that hold for one group."""

    size_max: int = 200
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5000
    assignment_interval_ms: int = 1000
    """How long a target stands before another is made (KIP-1263)."""


class ShareSituation(msgspec.Struct, frozen=True):
    image: MetadataImage
    moment: Moment
    settings: ShareSettings

    def topic_ids(self, names: frozenset[str]) -> frozenset[bytes]:
        """Of those that exist."""
        topics = self.image.topics
        return frozenset(topics[name].topic_id for name in names if name in topics)
