"""A share partition on the broker that leads its partition: loading, at work, or ended, and who waits for it."""

import asyncio

from penstock.protocol.errors import ErrorCode
from penstock.share.partition.share_partition import SharePartition
from penstock.share.values import SharePartitionKey

_Queue = dict["asyncio.Future[None]", None]
"""In the order in which they came: whoever has waited longest looks first."""


class LedPartition:
    """At work when `state` is there. Once it has ended, for the reason in `failure`, it does not begin again."""

    __slots__ = (
        "_is_read",
        "_kept_out",
        "_waiting",
        "failure",
        "is_unverified",
        "key",
        "leader_epoch",
        "state",
        "was_loaded",
    )

    def __init__(self, key: SharePartitionKey, leader_epoch: int) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.state: SharePartition | None = None
        self.was_loaded = False
        self.failure = ErrorCode.NONE
        self.is_unverified = (
            False  # the persister is about to be asked whether this is still the group's state
        )
        self._is_read = False
        self._kept_out: _Queue = {}
        self._waiting: _Queue = {}

    def begin(self, state: SharePartition) -> None:
        self.state = state
        self.was_loaded = True
        self.wake()

    def end(self, reason: ErrorCode) -> None:
        self.state = None
        self.failure = reason
        self.wake()

    # -- who reads: from the choice of an offset until what was found there is acquired, nobody else may

    def begin_reading(self, waiting: "asyncio.Future[None] | None" = None) -> bool:
        """Whether records can be acquired here, and nobody else is at it. Then `end_reading` is owed.

        If it is for another that they cannot, `waiting` is resolved when that one is done.
        """
        state = self.state
        if state is None:
            return False
        if self._is_read:
            if waiting is not None:
                self._kept_out[waiting] = None
            return False
        self._is_read = state.can_acquire
        return self._is_read

    def end_reading(self) -> None:
        self._is_read = False
        _resolve(self._kept_out)

    # -- who waits for records that are released, or for the load

    def watch(self, waiting: "asyncio.Future[None]") -> None:
        self._waiting[waiting] = None

    def unwatch(self, waiting: "asyncio.Future[None]") -> None:
        self._waiting.pop(waiting, None)
        self._kept_out.pop(waiting, None)

    def wake(self) -> None:
        _resolve(self._waiting)


def _resolve(futures: _Queue) -> None:
    for each in futures:
        if not each.done():
            each.set_result(None)
    futures.clear()
