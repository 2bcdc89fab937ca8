"""A share partition on the leader of its partition: loading, active or ended, with the fetches that wait for it."""

import asyncio

import msgspec

from penstock.protocol.errors import ErrorCode
from penstock.share.partition.share_partition import SharePartition
from penstock.share.state.values import SharePartitionKey

_Queue = dict["asyncio.Future[None]", None]
"""In the order of their arrival: the longest waiting comes first."""


class LedPartition(msgspec.Struct, eq=False):
    """Active when it has a `state`. Once it has ended, with the error in `failure`, it does not begin again."""

    key: SharePartitionKey
    leader_epoch: int
    state: SharePartition | None = None
    was_loaded: bool = False
    failure: ErrorCode = ErrorCode.NONE
    is_unverified: bool = False
    """Whether the persister is about to be asked for the current state epoch."""
    _has_reader: bool = False
    _waiting_readers: _Queue = msgspec.field(default_factory=dict)
    _watchers: _Queue = msgspec.field(default_factory=dict)

    def begin(self, state: SharePartition) -> None:
        self.state = state
        self.was_loaded = True
        self.wake()

    def end(self, reason: ErrorCode) -> None:
        self.state = None
        self.failure = reason
        self.wake()

    # -- one reader at a time, from the choice of an offset until the records there are acquired

    def begin_reading(self, waiting: "asyncio.Future[None] | None" = None) -> bool:
        """Return whether the caller may acquire records now. It must then call `end_reading`.

        If another reader is active, `waiting` is resolved when that one is done.
        """
        state = self.state
        if state is None:
            return False
        if self._has_reader:
            if waiting is not None:
                self._waiting_readers[waiting] = None
            return False
        self._has_reader = state.can_acquire
        return self._has_reader

    def end_reading(self) -> None:
        self._has_reader = False
        _resolve(self._waiting_readers)

    # -- fetches that wait for records or for the load

    def watch(self, waiting: "asyncio.Future[None]") -> None:
        self._watchers[waiting] = None

    def unwatch(self, waiting: "asyncio.Future[None]") -> None:
        self._watchers.pop(waiting, None)
        self._waiting_readers.pop(waiting, None)

    def wake(self) -> None:
        _resolve(self._watchers)


def _resolve(futures: _Queue) -> None:
    for each in futures:
        if not each.done():
            each.set_result(None)
    futures.clear()
