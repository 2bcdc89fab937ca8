"""One member of a group that assigns in epochs: the client's subscription, and its progress towards the target.

Immutable values: the group replaces a member by its next version, as its records describe it.
"""

from collections.abc import Callable
from typing import Any, Self

import msgspec

JOIN_EPOCH = 0
LEAVE_EPOCH = -1


def _allow_all(_topic: str) -> bool:
    return True


class Client(msgspec.Struct, frozen=True):
    """The sender of a request."""

    client_id: str
    client_host: str
    may_describe: Callable[[str], bool] = _allow_all
    """Whether it may know of a topic."""


class EpochMember(msgspec.Struct, frozen=True, kw_only=True):
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: frozenset[str] = frozenset()
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1

    def metadata(self) -> Any:
        """Return the record value of the client's subscription."""
        raise NotImplementedError

    def with_metadata(self, value: Any) -> Self:
        return msgspec.structs.replace(
            self,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
        )

    def progress(self) -> Any:
        """Return the record value of its epoch and its partitions."""
        raise NotImplementedError

    def with_progress(self, value: Any) -> Self:
        return msgspec.structs.replace(
            self, epoch=value.member_epoch, previous_epoch=value.previous_member_epoch
        )

    def without_progress(self) -> Self:
        """Return the member as it is when the record of its progress is deleted."""
        return msgspec.structs.replace(self, epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH)
