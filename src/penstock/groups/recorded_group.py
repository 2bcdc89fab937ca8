"""A group whose members are given partitions in epochs (KIP-848, KIP-932), changed by its records alone.

Whatever happens to a group is decided elsewhere as a series of records; `record` applies one and keeps it for the log,
`apply` is also how the group comes back from the log. So what is written and what is in memory cannot differ.
"""

import abc
import math
from collections.abc import Sized
from typing import Generic, TypeVar

from penstock.groups.consumer.member import Assignment
from penstock.groups.consumer.timers import Timers

K = TypeVar("K")
V = TypeVar("V")

NO_EPOCH = -1
NOTHING: Assignment = {}


class RecordedGroup(abc.ABC, Generic[K, V]):
    __slots__ = (
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

    @abc.abstractmethod
    def apply(self, key: K, value: V | None) -> None:
        """Take in one record, in whatever order a compacted log has left them."""

    def record(self, key: K, value: V | None) -> None:
        """Make a change, and keep it for the log."""
        self.apply(key, value)
        self.outbox.append((key, value))

    def take_outbox(self) -> list[tuple[K, V | None]]:
        taken, self.outbox = self.outbox, []
        return taken

    @property
    def wake_at_ms(self) -> float:
        return self.timers.wake_at_ms if self.members else math.inf
