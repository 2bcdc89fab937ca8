"""The settings of a share group, and what it needs to know to handle a request."""

from penstock.groups.base.context import EpochGroupSettings, GroupContext


class ShareSettings(EpochGroupSettings, frozen=True, kw_only=True):
    size_max: int = 200


ShareContext = GroupContext[ShareSettings]
