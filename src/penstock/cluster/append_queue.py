"""The two queues of appends to a replica: appends not written yet, and written appends not acknowledged yet.

When the disk is idle an append is written at once. While it is busy the records must wait for the next sync anyway: the
appends of one turn of the event loop are written at its end, with one call (group commit).

Most of thousands of partitions are idle, so an empty queue must be small.
"""

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from penstock.cluster.commit import ALL, Commit
from penstock.protocol.records.rules import TooLargeForEventLoop
from penstock.runtime.completion import Completion
from penstock.storage.errors import AppendRejected, LogError, StorageError
from penstock.storage.files import Buffer
from penstock.storage.log.append import Appender, Checked
from penstock.storage.log.log import Log

if TYPE_CHECKING:
    from penstock.cluster.replica import Replica

_log = logging.getLogger(__name__)

QUEUED_MAX: Final = 256
QUEUED_BYTES_MAX: Final = 16_384
"""The limits of one group: writing it blocks the loop. A larger batch is written at once."""


def resolve_below(waiting: list[Commit], end_offset: int) -> None:
    """Resolve the commits below `end_offset`, which are safe now, in the order of their appends."""
    if len(waiting) == 1:  # as on most of many partitions
        (commit,) = waiting
        if commit.last_offset < end_offset:
            waiting.clear()
            commit.resolve(None)
        return
    count = 0
    for commit in waiting:
        if commit.last_offset >= end_offset:
            break
        count += 1
    done = waiting[:count]
    del waiting[:count]
    for commit in done:
        commit.resolve(None)


def fail_all(waiting: list[Commit], error: LogError) -> None:
    failed = waiting[:]
    waiting.clear()
    for commit in failed:
        commit.fail(error)


class AppendQueue:
    """The queues of one replica. The replica decides which appends are allowed, and which offsets are safe."""

    __slots__ = ("_appender", "_queued", "_replica", "uncommitted", "undurable")

    def __init__(self, replica: "Replica") -> None:
        self._replica = replica
        self._appender: Appender | None = None
        self._queued: list[Commit] = []  # to be written at the end of this turn of the loop
        self.uncommitted: list[Commit] = []
        self.undurable: list[Commit] = []  # these wait for this broker's disk only

    def add(self, commit: Commit, records: Buffer, log: Log, checked: Checked | None = None) -> bool:
        """Queue or refuse an append; False if its batch is checked on a thread first."""
        appender = self._appender or self.appender(log)
        try:
            commit.batches = appender.prepare(
                records, commit.now_ms, is_from_client=commit.is_from_client, checked=checked
            )
        except TooLargeForEventLoop:
            self._check_on_thread(commit, records, appender)
            return False
        except AppendRejected as error:
            commit.fail(error)
            return True
        self._replica.deps.disk.room_bytes -= commit.size_bytes
        queued = self._queued
        if not (queued or log.is_journaling or log.syncing is not None):
            self._write([commit], log)
            return True
        if not queued:
            asyncio.get_running_loop().call_soon(self.write_queued)
        queued.append(commit)
        if len(queued) >= QUEUED_MAX or commit.size_bytes > QUEUED_BYTES_MAX:
            self.write_queued()
        return True

    def appender(self, log: Log) -> Appender:
        """The appender of the log, created for the first append."""
        if self._appender is None:
            self._appender = Appender(log)
        return self._appender

    def _check_on_thread(self, commit: Commit, records: Buffer, appender: Appender) -> None:
        """Check a large batch on a thread; `commit.checking` is done when the append has its place in the log."""
        if commit.checking is None:
            commit.checking = Completion()
        check = appender.checking(records, commit.now_ms)
        self._replica.deps.checks.call(check, partial(self._checked, commit, records))

    def _checked(
        self, commit: Commit, records: Buffer, checked: Checked | None, error: BaseException | None
    ) -> None:
        replica = self._replica
        if isinstance(error, AppendRejected):
            commit.fail(error)
        elif error is not None:
            _log.error("Check of a batch of %s-%d failed", replica.topic, replica.partition, exc_info=error)
            commit.fail(StorageError(f"the check of the batch failed: {error}"))
        else:
            refusal = replica.refusal(commit)
            if refusal is not None:
                commit.fail(refusal)
            elif not self.add(commit, records, replica.log, checked):
                return  # the topic's settings have changed: it is checked again
        assert commit.checking is not None
        commit.checking.resolve(None)

    def write_queued(self) -> None:
        """Write the queued appends now: the log and its producer state are then up to date."""
        queued = self._queued
        if queued:
            self._queued = []
            self._write(queued, self._replica.log)

    def _write(self, commits: list[Commit], log: Log) -> None:
        replica, deps = self._replica, self._replica.deps
        error_of_all: LogError | None = None
        try:
            appender = self._appender or self.appender(log)
            appender.append_each(commits, leader_epoch=replica.leader_epoch, now_ms=commits[-1].now_ms)
        except Exception as error:  # noqa: BLE001  no caller would fail the waiting commits
            _log.exception("Append to %s-%d failed", replica.topic, replica.partition)
            error_of_all = StorageError(f"the append failed: {error}")
        deps.flusher.request(log)
        finished: list[tuple[Commit, LogError | None]] = []
        acks: int | None = None
        for commit in commits:
            appended = commit.appended
            if appended is None:
                deps.disk.room_bytes += commit.size_bytes
                finished.append((commit, commit.refusal or error_of_all))
                continue
            replica.bytes_in += commit.size_bytes
            if commit.acks != acks:  # nearly always once in a group
                acks = commit.acks
                safe_offset, waiting = self._safety(acks, log)
            commit.last_offset = appended.last_offset
            if commit.last_offset < safe_offset:
                finished.append((commit, None))
            elif log.failure is not None:
                finished.append((commit, log.failure))
            else:
                waiting.append(commit)
        if log.committed_offset > replica.high_watermark:  # the topic does not wait for the disk
            replica.on_log_advanced()
        if replica.end_readers:
            replica.end_readers.wake()
        for commit, failure in finished:  # last: their callbacks may append
            if failure is None:
                commit.resolve(None)
                continue
            if isinstance(failure, StorageError):
                deps.on_storage_error(failure)
            commit.fail(failure)

    def _safety(self, acks: int, log: Log) -> tuple[int, list[Commit]]:
        """The offset below which all records are as safe as `acks` require, and the queue of the commits above it."""
        if acks == ALL:
            return self._replica.high_watermark, self.uncommitted
        return log.log_end_offset if acks == 0 else log.committed_offset, self.undurable

    def wait(self, commit: Commit, log: Log) -> None:
        """Queue a commit whose records are in the log already."""
        safe_offset, waiting = self._safety(commit.acks, log)
        if commit.last_offset < safe_offset:
            commit.resolve(None)
        elif log.failure is not None:
            commit.fail(log.failure)
        else:
            waiting.append(commit)

    def fail(self, failure: LogError) -> None:
        """Fail all commits in the queues."""
        for waiting in (self._queued, self.uncommitted, self.undurable):
            fail_all(waiting, failure)
