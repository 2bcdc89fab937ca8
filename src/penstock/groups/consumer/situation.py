"""What a KIP-848 group is told of the world around it with every request."""

import msgspec

from penstock.cluster.metadata.image import MetadataImage
from penstock.groups.moment import Moment


class ConsumerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that hold for one group."""

    size_max: int = 2**31 - 1
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5000
    assignment_interval_ms: int = 1000
    """How long a target stands before another is made (KIP-1263): members that come together cost one."""
    assignors: tuple[str, ...] = ("uniform", "range")
    """Those that members may ask for; the first serves when nobody asks."""
    allows_upgrade: bool = True
    allows_downgrade: bool = True
    classic_size_max: int = 2**31 - 1


class Situation(msgspec.Struct, frozen=True):
    image: MetadataImage
    moment: Moment
    settings: ConsumerSettings
