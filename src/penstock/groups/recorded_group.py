"""A group whose members are given partitions in epochs (KIP-848, KIP-932), changed by its records alone.

Whatever happens to a group is decided elsewhere as a series of records; `record` applies one and keeps it for the log,
`apply` is also how the group comes back from the log. So what is written and what is in memory cannot differ. When the
log takes the records, `take_outbox` ends the series; when it refuses them, `roll_back` does.
"""

import abc
import copy
import math
from collections.abc import Sized
from typing import Any, ClassVar, Generic, TypeVar

from penstock.groups.consumer.member import Assignment
from penstock.groups.consumer.timers import Timers
from penstock.groups.moment import Moment

K = TypeVar("K")
V = TypeVar("V")

NO_EPOCH = -1
NOTHING: Assignment = {}


class RecordedGroup(abc.ABC, Generic[K, V]):
    __slots__ = (
        "_before",
        "assigned_at_ms",
        "assignment_epoch",
        "epoch",
        "group_id",
        "metadata_hash",
        "must_refresh",
        "outbox",
        "target",
        "timers",
    )

    members: Sized
    recorded: ClassVar[tuple[str, ...]] = (
        "assigned_at_ms",
        "assignment_epoch",
        "epoch",
        "metadata_hash",
        "target",
    )
    """The attributes that records change: values, or containers of values."""

    def __init__(self, group_id: str, epoch: int) -> None:
        self.group_id = group_id
        self.epoch = epoch
        self.metadata_hash = 0
        self.assignment_epoch = NO_EPOCH
        self.assigned_at_ms = 0
        self.target: dict[str, Assignment] = {}
        self.must_refresh = True
        """Topics that it may read were made, changed or deleted: the next heartbeat looks at them."""
        self.timers = Timers()
        self.outbox: list[tuple[K, V | None]] = []
        self._before: dict[str, Any] = {}  # what was recorded before the outbox

    @abc.abstractmethod
    def apply(self, key: K, value: V | None) -> None:
        """Take in one record, in whatever order a compacted log has left them."""

    def record(self, key: K, value: V | None) -> None:
        """Make a change, and keep it for the log."""
        if not self.outbox:
            self._before = {name: copy.copy(getattr(self, name)) for name in self.recorded}
        self.apply(key, value)
        self.outbox.append((key, value))

    def take_outbox(self) -> list[tuple[K, V | None]]:
        """The log has the changes, or is about to."""
        taken, self.outbox = self.outbox, []
        self._before = {}
        return taken

    def roll_back(self, moment: Moment, session_timeout_ms: int) -> None:
        """The log refuses what is in the outbox: the group is as before, as if it had just been read from the log."""
        for name, value in self._before.items():
            setattr(self, name, value)
        self.take_outbox()
        self.timers = Timers()
        self.must_refresh = True
        self.resume(moment, session_timeout_ms)

    @abc.abstractmethod
    def resume(self, moment: Moment, session_timeout_ms: int) -> None:
        """The group was read from the log: members have a whole session to be heard of again."""

    @property
    def wake_at_ms(self) -> float:
        return self.timers.wake_at_ms if self.members else math.inf
