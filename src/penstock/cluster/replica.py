"""One partition on this broker: its log, its epoch, and what of it may be acknowledged and read.

The high watermark is the offset below which records are committed: synced here (unless the topic waives that)
and, in a cluster, held by every in-sync replica. Producers wait for it, consumers never see beyond it.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from penstock.observability.completion import Completion
from penstock.protocol.errors import ErrorCode
from penstock.storage.files import Buffer
from penstock.storage.flusher import Flusher
from penstock.storage.log import Appended, Log, Origin
from penstock.storage.log_errors import LogCorrupt, LogError


class PartitionGone(LogError):
    """The partition is not here any more: whoever wrote to it must ask where it is."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Replica:
    __slots__ = (
        "_flusher",
        "_log",
        "_open_log",
        "_producers",
        "_readers",
        "_why_not_opened",
        "high_watermark",
        "is_leader",
        "leader_epoch",
        "leader_id",
        "partition",
        "topic",
        "topic_id",
    )

    def __init__(
        self, topic: str, topic_id: bytes, partition: int, open_log: Callable[[], Log], flusher: Flusher
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.is_leader = False
        self.leader_id = -1
        self.leader_epoch = -1
        self.high_watermark = 0
        self._open_log = open_log
        self._log: Log | None = None
        self._why_not_opened: LogError | None = None
        self._flusher = flusher
        # Appends come in offset order, so whoever waits for the lowest offset stands first.
        self._producers: deque[tuple[int, Completion[None]]] = deque()
        self._readers: set[asyncio.Future[None]] = set()

    @property
    def log(self) -> Log:
        """Opened when first asked for: a broker with thousands of idle partitions starts at once.

        Raises `LogError` or `OSError`; `Replicas` asks first, so that whoever holds a leader can rely on it. A log
        that is damaged is not read through again before a restart.
        """
        opened = self._log
        if opened is None:
            if self._why_not_opened is not None:
                raise self._why_not_opened.with_traceback(None)
            try:
                opened = self._log = self._open_log()
            except LogCorrupt as error:
                self._why_not_opened = error
                raise
            self.high_watermark = opened.committed_offset
            opened.producers.advance_high_watermark(self.high_watermark)  # recovery has replayed the markers
            opened.on_durable = self.advance_high_watermark
            if self.is_leader:
                opened.begin_epoch(self.leader_epoch)
        return opened

    @property
    def is_open(self) -> bool:
        return self._log is not None

    def lead_by(self, leader_id: int, leader_epoch: int, *, is_here: bool) -> None:
        """Take in who leads the partition now; a new epoch makes long polls look again."""
        if leader_epoch != self.leader_epoch:
            self.is_leader = is_here
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            if is_here and self._log is not None:
                self._log.begin_epoch(leader_epoch)
            self.wake_readers()

    def append(self, records: Buffer, now_ms: int, origin: Origin = Origin.CLIENT) -> Appended:
        """Append as the leader. Raises `LogError`."""
        log = self.log
        appended = log.append(records, leader_epoch=self.leader_epoch, now_ms=now_ms, origin=origin)
        self._flusher.request(log)
        if log.committed_offset > self.high_watermark:
            self.advance_high_watermark()
        return appended

    def committed(self, last_offset: int) -> Completion[None] | None:
        """What to wait for before records up to `last_offset` are acknowledged; None when they are committed."""
        if self.high_watermark > last_offset:
            return None
        waiter: Completion[None] = Completion()
        failure = self.log.failure
        if failure is not None:
            waiter.fail(failure)
        else:
            self._producers.append((last_offset, waiter))
        return waiter

    def advance_high_watermark(self) -> None:
        """Take in that the log became durable further, or that it failed, and wake whoever waited for that."""
        failure = self.log.failure
        if failure is not None:
            self._fail_producers(failure)
            return
        high_watermark = self.log.committed_offset
        if high_watermark <= self.high_watermark:
            return
        self.high_watermark = high_watermark
        self.log.producers.advance_high_watermark(high_watermark)
        producers = self._producers
        while producers and producers[0][0] < high_watermark:
            producers.popleft()[1].resolve(None)
        self.wake_readers()

    def _fail_producers(self, failure: LogError) -> None:
        while self._producers:
            self._producers.popleft()[1].fail(failure)

    def watch(self, reader: "asyncio.Future[None]") -> None:
        """Resolve `reader` when there is something new to read or the partition changes hands."""
        self._readers.add(reader)

    def unwatch(self, reader: "asyncio.Future[None]") -> None:
        self._readers.discard(reader)

    def wake_readers(self) -> None:
        for reader in self._readers:
            if not reader.done():
                reader.set_result(None)
        self._readers.clear()

    def close(self, reason: str) -> None:
        """The partition is deleted or handed over: nobody waits for it any more."""
        self._why_not_opened = PartitionGone(reason)  # opening it would make it anew
        self._fail_producers(self._why_not_opened)
        self.wake_readers()

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided."""
        unstable = self.log.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def check_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """KIP-320: refuse a client whose idea of the leadership is older or newer than ours."""
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH
