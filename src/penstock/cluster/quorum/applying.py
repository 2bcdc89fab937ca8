"""Applies committed records to the state machine, and answers the appends that wait for that.

It is a separate task, so that a slow state machine does not delay the quorum. Its work comes in the order of the
node's effects: committed records, a snapshot that has replaced the log, a snapshot to take.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.effects import Committed, InstallSnapshot, TakeSnapshot
from penstock.cluster.raft.errors import NotLeader
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.wire import Buffer
from penstock.storage.errors import OffsetOutOfRange

Work = Committed | InstallSnapshot | TakeSnapshot

_OUTCOME_MS_MAX = 2_000


class StateMachine(Protocol):
    """The state that the log describes: the metadata image."""

    async def apply(self, batches: Buffer) -> None:
        """Apply committed batches in the order of the log; control batches are among them."""
        ...

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:
        """Replace the state by a snapshot's content, in pieces of whole batches."""
        ...

    def snapshot(self) -> Iterable[bytes] | None:
        """The state as of this call, as batches of records; they are read on a thread. None if it is not complete."""
        ...

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """The leader has changed; if it is this node, it may append in `epoch`."""
        ...


class Applier:
    """`applied_offset` is the end of the records that the state machine has applied."""

    def __init__(
        self,
        log: StoredRaftLog,
        machine: StateMachine,
        *,
        voters_at: Callable[[int], VoterSet | None],
        on_snapshot: Callable[[LogPosition], None],
    ) -> None:
        """`voters_at` returns the voters for a snapshot; `on_snapshot` is called when one was taken."""
        self._log = log
        self._machine = machine
        self._voters_at = voters_at
        self._on_snapshot = on_snapshot
        self._work: asyncio.Queue[Work | None] = asyncio.Queue()
        self._has_ended = False
        self._waiting: dict[int, tuple[int, asyncio.Future[int]]] = {}
        """Appends that wait to be applied: epoch and waiter, by their last offset."""
        self.applied_offset = 0

    def add(self, work: Work) -> None:
        self._work.put_nowait(work)

    def end(self) -> None:
        """The disk has failed: apply the remaining committed records, but take no snapshot."""
        self._has_ended = True
        self._work.put_nowait(None)

    async def run(self) -> None:
        """Until there is no more work. Raises `LogError` or `OSError`."""
        while (work := await self._work.get()) is not None:
            await self._apply(work)

    async def catch_up(self) -> None:
        """Do what there is to do by now. Raises `LogError` or `OSError`."""
        while not self._work.empty() and (work := self._work.get_nowait()) is not None:
            await self._apply(work)

    async def load(self, snapshot: LogPosition) -> None:
        await self._machine.load(self._log.snapshot_state(snapshot), snapshot.offset)
        self.applied_offset = snapshot.offset

    async def _apply(self, work: Work) -> None:
        if isinstance(work, InstallSnapshot):
            if work.snapshot.offset > self.applied_offset:
                await self._install(work.snapshot)
        elif isinstance(work, TakeSnapshot):
            if not self._has_ended:
                await self._take_snapshot(work.snapshot)
        else:
            try:
                await self._apply_up_to(work.offset)
            except OffsetOutOfRange:
                if self.applied_offset >= self._log.start_offset:
                    raise
                # A snapshot has replaced the records to apply: it comes next.

    async def _install(self, snapshot: LogPosition) -> None:
        try:
            await self.load(snapshot)
        except FileNotFoundError:
            if snapshot.offset >= self._log.start_offset:
                raise
            # A newer snapshot has replaced it before it was read: that one comes next.

    async def _apply_up_to(self, offset: int) -> None:
        async for batches in self._log.batches(self.applied_offset, offset):
            await self._machine.apply(batches)
            for _, header in iter_batches(batches):
                self.applied_offset = header.next_offset
        # They end early when the disk has failed: the watcher continues from the last durable record.
        for last_offset in [each for each in self._waiting if each < self.applied_offset]:
            _, waiter = self._waiting.pop(last_offset)
            if not waiter.done():
                waiter.set_result(last_offset)

    async def _take_snapshot(self, snapshot: LogPosition) -> None:
        state = self._machine.snapshot() if self.applied_offset == snapshot.offset else None
        if state is None:
            self._on_snapshot(LogPosition(0, 0))
            return
        await self._log.write_snapshot(snapshot, self._voters_at(snapshot.offset), state)
        self._on_snapshot(snapshot)

    # -- waiters -------------------------------------------------------------------------------------

    def answer_when_applied(self, waiter: "asyncio.Future[int]", last_offset: int, epoch: int) -> None:
        """Resolve the waiter when its offset is applied, whichever node leads by then."""
        self._waiting[last_offset] = (epoch, waiter)

    def leader_changed(self, leader_id: int | None, epoch: int, *, is_here: bool) -> None:
        """Wait a while for the outcome of earlier appends: the new leader may commit or truncate them.

        A client that got NOT_CONTROLLER too early would ask the new leader, and find its own change already made.
        """
        epoch_limit = epoch if is_here else epoch + 1
        if any(appended_in < epoch_limit for appended_in, _ in self._waiting.values()):
            loop = asyncio.get_running_loop()
            loop.call_later(
                _OUTCOME_MS_MAX / 1000, self._fail_waiters, NotLeader(leader_id, epoch), epoch_limit, 0
            )
        self._machine.leader_changed(leader_id, epoch)

    def truncated(self, end_offset: int, error: NotLeader) -> None:
        """Fail the waiters of records from `end_offset` on: they were truncated."""
        self._fail_waiters(error, None, end_offset)

    def _fail_waiters(self, error: NotLeader, epoch_limit: int | None, offset: int) -> None:
        """Fail the waiters of records at `offset` or beyond that were appended before `epoch_limit`."""
        for last_offset, (appended_in, waiter) in list(self._waiting.items()):
            if last_offset >= offset and (epoch_limit is None or appended_in < epoch_limit):
                del self._waiting[last_offset]
                if not waiter.done():
                    waiter.set_exception(error)

    def forget_waiters(self) -> None:
        self._waiting.clear()
