"""The free space of a data directory, and how much of it clients may still use.

A broker whose disk is full can neither commit offsets nor change metadata nor stop cleanly, and even deleting a topic
is a change of metadata. The last part of the disk is therefore a reserve that clients' records do not use: the appends
of clients and of followers are refused before the disk refuses everything.

    OK <──> FULL     less than the reserve is free, or the disk refused a write for lack of space a moment ago
     └──┬────┘
        v
      FAILED         until the broker is restarted

No I/O: `server/broker/disk_watch.py` measures. Appends deduct their bytes from `room_bytes` in between, so that clients
cannot use up the reserve between two measurements, however fast they are.
"""

import enum
import sys
from typing import Final

from penstock.config.disk_reserve import megabytes, resume_bytes
from penstock.runtime.observers import Observers
from penstock.storage.errors import NoSpace
from penstock.storage.files import Usage

_UNLIMITED: Final = sys.maxsize
_REFUSAL_COUNTS_MS: Final = 5_000


class DiskState(enum.IntEnum):
    OK = 0
    FULL = 1
    FAILED = 2


class DiskSpace:
    __slots__ = (
        "_is_below_reserve",
        "_refused_ms",
        "failure",
        "free_bytes",
        "news",
        "reserve_bytes",
        "room_bytes",
        "state",
        "total_bytes",
    )

    def __init__(self) -> None:
        self.state = DiskState.OK
        self.total_bytes = 0
        self.free_bytes = 0
        self.reserve_bytes = 0
        self.room_bytes = _UNLIMITED
        """The bytes that clients may still write before the next measurement."""
        self.failure: str | None = None
        """The reason why the disk is unusable until the broker is restarted."""
        self.news: Observers[()] = Observers()
        """Notified when the space should be measured now."""
        self._is_below_reserve = False
        self._refused_ms: float | None = None

    def measured(self, usage: Usage, reserve_bytes: int, now_ms: float) -> None:
        """Update the state from a measurement. Somewhat more than the reserve must be free before writes resume."""
        self.total_bytes, self.free_bytes = usage
        self.reserve_bytes = reserve_bytes
        wanted_bytes = resume_bytes(reserve_bytes) if self._is_below_reserve else reserve_bytes
        self._is_below_reserve = self.free_bytes < wanted_bytes
        if self._is_below_reserve:
            self.room_bytes = 0
        else:
            self.room_bytes = self.free_bytes - reserve_bytes if reserve_bytes else _UNLIMITED
        if self._refused_ms is not None and now_ms - self._refused_ms >= _REFUSAL_COUNTS_MS:
            self._refused_ms = None
        if self.state is not DiskState.FAILED:
            is_full = self._is_below_reserve or self._refused_ms is not None
            self.state = DiskState.FULL if is_full else DiskState.OK

    def refuse(self, name: str) -> NoSpace:
        """The error for records that are larger than `room_bytes`. The disk is full until more is free again."""
        self._is_below_reserve = True
        self.room_bytes = 0
        self._now_full()
        return NoSpace(
            f"cannot write to {name}: the disk of the broker is full; writes resume when space is freed"
        )

    def refused(self, now_ms: float) -> None:
        """The disk itself refused a write for lack of space."""
        self._refused_ms = now_ms
        self._now_full()

    def _now_full(self) -> None:
        if self.state is DiskState.OK:
            self.state = DiskState.FULL
            self.news.notify()

    def failed(self, error: Exception) -> None:
        if self.state is not DiskState.FAILED:
            self.state = DiskState.FAILED
            self.failure = str(error)
            self.news.notify()

    @property
    def trouble(self) -> str | None:
        """The problem, without the paths of this machine."""
        if self.state is DiskState.OK:
            return None
        if self.state is DiskState.FAILED:
            return "its disk has failed; it must be checked and the broker restarted"
        return f"its disk is full ({self.figures}); clients' writes are refused until space is freed"

    @property
    def figures(self) -> str:
        free, total = megabytes(self.free_bytes), megabytes(self.total_bytes)
        return f"{free} free of {total}, reserve {megabytes(self.reserve_bytes)}"
