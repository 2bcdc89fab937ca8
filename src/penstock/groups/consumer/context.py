"""The settings of a KIP-848 group, and what it needs to know to handle a request."""

from penstock.groups.base.context import EpochGroupSettings, GroupContext


class ConsumerSettings(EpochGroupSettings, frozen=True, kw_only=True):
    assignors: tuple[str, ...] = ("uniform", "range")
    """The assignors that members may select; the first is the default."""
    allows_upgrade: bool = True
    allows_downgrade: bool = True
    classic_size_max: int = 2**31 - 1


ConsumerContext = GroupContext[ConsumerSettings]
