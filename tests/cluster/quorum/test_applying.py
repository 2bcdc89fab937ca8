import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import cast

import pytest

from penstock.cluster.quorum.applying import Applier
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.effects import Committed, TakeSnapshot
from penstock.cluster.raft.errors import NotLeader
from penstock.cluster.raft.values import LogPosition
from penstock.protocol.wire import Buffer
from penstock_simulation.broker import run_simulated
from penstock_simulation.loop import SimulatedLoop
from tests.cluster.raft.support import batch


class FakeLog:
    """It has one record at each offset."""

    start_offset = 0

    async def batches(self, start_offset: int, end_offset: int) -> AsyncIterator[Buffer]:
        for offset in range(start_offset, end_offset):
            yield batch("record", epoch=1, offset=offset)


class Machine:
    state: Iterable[bytes] | None = ()

    async def apply(self, batches: Buffer) -> None: ...

    async def load(self, content: Iterable[bytes], end_offset: int) -> None: ...

    def snapshot(self) -> Iterable[bytes] | None:
        return self.state

    def leader_changed(self, leader_id: int | None, epoch: int) -> None: ...


class Subject:
    def __init__(self) -> None:
        self.machine = Machine()
        self.snapshots: list[LogPosition] = []
        self.applier = Applier(
            cast("StoredRaftLog", FakeLog()),
            self.machine,
            voters_at=lambda _end_offset: None,
            on_snapshot=self.snapshots.append,
        )

    def append(self, last_offset: int, epoch: int) -> "asyncio.Future[int]":
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.applier.answer_when_applied(waiter, last_offset, epoch)
        return waiter

    async def commit(self, offset: int) -> None:
        self.applier.add(Committed(offset))
        await self.applier.catch_up()


def run(scenario: Callable[[Subject], Awaitable[None]]) -> None:
    async def played(_loop: SimulatedLoop) -> None:
        await scenario(Subject())

    run_simulated(1, played)


def test_an_append_that_the_next_leader_commits_succeeds() -> None:
    async def scenario(subject: Subject) -> None:
        waiter = subject.append(9, epoch=5)
        subject.applier.leader_changed(2, 6, is_here=False)
        assert not waiter.done()
        await subject.commit(10)
        assert await waiter == 9

    run(scenario)


def test_an_append_that_the_next_leader_truncates_fails() -> None:
    async def scenario(subject: Subject) -> None:
        kept, cut = subject.append(8, epoch=5), subject.append(9, epoch=5)
        subject.applier.leader_changed(2, 6, is_here=False)
        subject.applier.truncated(9, NotLeader(2, 6))
        with pytest.raises(NotLeader):
            await cut
        await subject.commit(10)
        assert await kept == 8

    run(scenario)


@pytest.mark.parametrize("is_here", [True, False])
def test_the_wait_for_the_outcome_of_an_append_ends(is_here: bool) -> None:
    async def scenario(subject: Subject) -> None:
        old = subject.append(9, epoch=5)
        subject.applier.leader_changed(1 if is_here else 2, 6, is_here=is_here)
        new = subject.append(10, epoch=6) if is_here else None
        with pytest.raises(NotLeader):
            await old
        assert new is None or not new.done()

    run(scenario)


def test_no_snapshot_is_written_of_a_state_that_is_not_complete() -> None:
    async def scenario(subject: Subject) -> None:
        subject.machine.state = None  # a metadata transaction is open
        subject.applier.add(TakeSnapshot(LogPosition(0, 1)))
        await subject.applier.catch_up()
        assert subject.snapshots == [LogPosition(0, 0)], "asked for, and not taken"

    run(scenario)
