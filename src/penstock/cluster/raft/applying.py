"""Applies to the state machine what the quorum has committed, and answers who waits for that.

A task of its own beside the driver's, so that a slow state machine does not keep the quorum waiting. Work comes in the
order in which the node wanted it: records that are committed, a snapshot that has replaced the log, a snapshot to take.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.cluster.raft.effects import Committed, InstallSnapshot, TakeSnapshot
from penstock.cluster.raft.errors import NotLeader
from penstock.cluster.raft.log import StoredRaftLog
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.records.batch import iter_batches
from penstock.protocol.wire import Buffer
from penstock.storage.log.errors import OffsetOutOfRange

Work = Committed | InstallSnapshot | TakeSnapshot

_OUTCOME_MS_MAX = 2_000


class StateMachine(Protocol):
    """What the log is about: the metadata image."""

    async def apply(self, batches: Buffer) -> None:
        """Take in batches that are committed, in the order of the log; control batches among them."""
        ...

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:
        """Replace everything by a snapshot's content, in pieces of whole batches; it stands for all below the end."""
        ...

    def snapshot(self) -> Iterable[bytes]:
        """Everything, as batches of records; drawn on a thread, so it is taken as of this call."""
        ...

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Who leads now; this node may append in `epoch` when it is itself."""
        ...


class Applier:
    """`applied_offset` is the end of what the state machine has seen."""

    def __init__(
        self,
        log: StoredRaftLog,
        machine: StateMachine,
        *,
        voters_at: Callable[[int], VoterSet | None],
        on_snapshot: Callable[[LogPosition], None],
    ) -> None:
        """`voters_at` gives the voters that a snapshot names; `on_snapshot` is told which one was taken."""
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
        """No more will come, for the disk has failed: what is committed is still applied, but no snapshot is taken."""
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
                # A snapshot has replaced what was to be applied: it comes next.

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
        # They end early when the disk has failed: what is not durable here for sure is left to the watcher.
        for last_offset in [each for each in self._waiting if each < self.applied_offset]:
            _, waiter = self._waiting.pop(last_offset)
            if not waiter.done():
                waiter.set_result(last_offset)

    async def _take_snapshot(self, snapshot: LogPosition) -> None:
        if self.applied_offset != snapshot.offset:
            self._on_snapshot(LogPosition(0, 0))
            return
        await self._log.write_snapshot(snapshot, self._voters_at(snapshot.offset), self._machine.snapshot())
        self._on_snapshot(snapshot)

    # -- who waits ------------------------------------------------------------------------------------

    def answer_when_applied(self, waiter: "asyncio.Future[int]", last_offset: int, epoch: int) -> None:
        """Give the waiter its offset when that is applied, whoever leads by then: the log tells what became of it."""
        self._waiting[last_offset] = (epoch, waiter)

    def leader_changed(self, leader_id: int | None, epoch: int, *, is_here: bool) -> None:
        """What was appended before may be committed by the new leader, or be cut. For a while that is waited for.

        To whoever is told too soon that this node does not lead, and asks the new leader, what it asked for is done
        already, by somebody else as it seems.
        """
        epoch_limit = epoch if is_here else epoch + 1
        if any(appended_in < epoch_limit for appended_in, _ in self._waiting.values()):
            loop = asyncio.get_running_loop()
            loop.call_later(
                _OUTCOME_MS_MAX / 1000, self._give_up, NotLeader(leader_id, epoch), epoch_limit, 0
            )
        self._machine.leader_changed(leader_id, epoch)

    def truncated(self, end_offset: int, error: NotLeader) -> None:
        """What was appended from there on is gone."""
        self._give_up(error, None, end_offset)

    def _give_up(self, error: NotLeader, epoch_limit: int | None, offset: int) -> None:
        """Tell those that wait for what was appended before that epoch, and lies at this offset or beyond."""
        for last_offset, (appended_in, waiter) in list(self._waiting.items()):
            if last_offset >= offset and (epoch_limit is None or appended_in < epoch_limit):
                del self._waiting[last_offset]
                if not waiter.done():
                    waiter.set_exception(error)

    def forget_waiters(self) -> None:
        self._waiting.clear()
