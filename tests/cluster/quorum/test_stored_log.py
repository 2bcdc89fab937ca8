"""The quorum's log on the storage engine, with power cuts."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from functools import partial, wraps
from random import Random
from typing import Any, TypeVar

import pytest

from penstock.cluster.quorum.applying import Applier
from penstock.cluster.quorum.snapshots import snapshot_batches
from penstock.cluster.quorum.stored_log import StoredRaftLog
from penstock.cluster.raft.effects import Committed, InstallSnapshot
from penstock.cluster.raft.records import kraft_version_batch, leader_change_batch, voters_batch
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.wire import Buffer
from penstock.runtime.clock import ManualClock
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.errors import LogCorrupt, StorageFailure
from penstock.storage.flusher import Flusher
from penstock.storage.store.log_store import LogStore
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.cluster.raft.support import batch, voters

T = TypeVar("T")


class Opened:
    """A data directory in use, and the quorum's log in it."""

    def __init__(self, disk: FaultyDisk, journal_bytes: int = 0, offload: Offload | None = None) -> None:
        clock = ManualClock()
        self.journal_bytes = journal_bytes
        self.disk = disk
        self.store = LogStore.open(
            "/data",
            files=disk,
            node_id=1,
            new_cluster_id=lambda: "c",
            new_directory_id=lambda: b"d" * 16,
            clock=clock,
            offload=InlineOffload(),
            journal_bytes=journal_bytes,
        )
        flusher = Flusher(InlineOffload(), clock, journal=self.store.journal)
        self.log = StoredRaftLog(
            self.store, flusher, files=disk, clock=clock, offload=offload or InlineOffload()
        )

    def crash(self, keep: Keep = Keep.NOTHING) -> "Opened":
        return Opened(self.disk.crash(keep), self.journal_bytes)

    async def read(self) -> list[tuple[int, int]]:
        """Offset and epoch of every batch."""
        shape = self.log.shape()
        return [
            (header.base_offset, header.leader_epoch)
            async for buffer in self.log.batches(shape.start_offset, shape.end_offset)
            for _, header in iter_batches_strict(buffer)
        ]


def on_a_loop(test: Callable[[Opened], Coroutine[Any, Any, None]]) -> Callable[[Opened], None]:
    """Run a test that awaits."""

    @wraps(test)
    def run(opened: Opened) -> None:
        asyncio.run(test(opened))

    return run


@pytest.fixture
def opened() -> Opened:
    return Opened(FaultyDisk(Random(5)))


def opening(voting: VoterSet) -> list[bytes]:
    return [
        leader_change_batch(1, voting, [1], offset=0, epoch=1, timestamp=0),
        kraft_version_batch(offset=1, epoch=1, timestamp=0),
        voters_batch(voting, offset=2, epoch=1, timestamp=0),
    ]


@on_a_loop
async def test_synced_records_survive_a_power_cut_with_their_epochs(opened: Opened) -> None:
    opened.log.append(batch("a", epoch=1, offset=0))
    opened.log.append(batch("b", epoch=3, offset=1))
    await opened.log.sync()
    opened.log.append(batch("c", epoch=3, offset=2))
    assert opened.log.durable_offset == 2
    shape = opened.crash().log.shape()
    assert shape.end == LogPosition(3, 2)
    assert shape.compare(1, 1) is None
    assert shape.synced_offset == 2


@on_a_loop
async def test_records_of_another_leader_follow_a_truncation(opened: Opened) -> None:
    for number in range(4):
        opened.log.append(batch("mine", epoch=1, offset=number))
    await opened.log.sync()
    await opened.log.truncate(2)
    opened.log.append(batch("theirs", epoch=2, offset=2))
    await opened.log.sync()
    again = opened.crash()
    assert await again.read() == [(0, 1), (1, 1), (2, 2)]
    assert again.log.shape().end == LogPosition(2, 3)


@on_a_loop
async def test_the_voters_are_read_from_the_log(opened: Opened) -> None:
    for each in opening(voters(1, 2, 3)):
        opened.log.append(each)
    opened.log.append(voters_batch(voters(1, 2), offset=3, epoch=1, timestamp=0))
    history, size_bytes = await opened.log.scan(VoterSet())
    assert history.latest == voters(1, 2)
    assert history.at(3) == voters(1, 2, 3)
    assert size_bytes > 0


@on_a_loop
async def test_a_snapshot_allows_the_deletion_of_the_start_of_the_log(opened: Opened) -> None:
    for each in opening(voters(1, 2, 3)):
        opened.log.append(each)
    for number in range(3, 10):
        opened.log.append(batch("a", epoch=1, offset=number))
    await opened.log.sync()
    snapshot = LogPosition(1, 6)
    await opened.log.write_snapshot(snapshot, voters(1, 2, 3), [batch("state")])
    await opened.log.drop_prefix(snapshot)
    again = opened.crash()
    shape = again.log.shape()
    assert (shape.start_offset, shape.end_offset) == (6, 10)
    assert shape.snapshots == [snapshot]
    history, _ = await again.log.scan(VoterSet())
    assert history.latest == voters(1, 2, 3)


@on_a_loop
async def test_a_log_that_starts_after_a_missing_snapshot_is_refused(opened: Opened) -> None:
    for number in range(10):
        opened.log.append(batch("a", epoch=1, offset=number))
    await opened.log.sync()
    snapshot = LogPosition(1, 6)
    await opened.log.write_snapshot(snapshot, voters(1), [batch("state")])
    await opened.log.drop_prefix(snapshot)
    disk = opened.disk.crash()
    for path in disk.paths():
        if path.endswith(".checkpoint"):
            disk.remove(path)
    with pytest.raises(
        LogCorrupt, match="has no snapshot, but the metadata records below offset 6 are in one only"
    ):
        await Opened(disk).log.scan(VoterSet())


@on_a_loop
async def test_a_fetched_snapshot_replaces_the_log(opened: Opened) -> None:
    source = Opened(FaultyDisk(Random(6)))
    snapshot = LogPosition(4, 50)
    await source.log.write_snapshot(snapshot, voters(1, 2), [batch("state", "of", "things")])
    opened.log.append(batch("old", epoch=1, offset=0))
    await opened.log.sync()
    position = 0
    while True:
        data, size_bytes = await source.log.read_snapshot(snapshot, position, 20)
        await opened.log.store_chunk(snapshot, position, data)
        position += len(data)
        if position >= size_bytes:
            break
    assert await opened.log.install(snapshot) == voters(1, 2)
    opened.log.append(batch("new", epoch=5, offset=50))
    await opened.log.sync()
    again = opened.crash()
    assert await again.read() == [(50, 5)]
    assert again.log.shape().compare(50, 4) is None


@on_a_loop
async def test_a_fetched_snapshot_that_is_damaged_replaces_nothing(opened: Opened) -> None:
    source = Opened(FaultyDisk(Random(6)))
    snapshot = LogPosition(4, 50)
    await source.log.write_snapshot(snapshot, voters(1, 2), [batch("state", "of", "things")])
    opened.log.append(batch("old", epoch=1, offset=0))
    await opened.log.sync()
    data = bytearray((await source.log.read_snapshot(snapshot, 0, 1 << 20))[0])
    data[-3] ^= 1
    await opened.log.store_chunk(snapshot, 0, bytes(data))
    with pytest.raises(LogCorrupt):
        await opened.log.install(snapshot)
    again = opened.crash()
    assert await again.read() == [(0, 1)]
    assert again.log.shape().snapshots == []


@on_a_loop
async def test_a_snapshot_completed_before_a_crash_replaces_the_log_after_it(opened: Opened) -> None:
    opened.log.append(batch("old", epoch=1, offset=0))
    await opened.log.sync()
    snapshot = LogPosition(4, 50)
    await opened.log.write_snapshot(snapshot, voters(1), [])  # as `install` does, before a power cut
    shape = opened.crash().log.shape()
    assert shape.end == snapshot
    assert shape.start_offset == 50


@on_a_loop
async def test_a_snapshot_of_another_history_replaces_a_longer_log(opened: Opened) -> None:
    for number in range(4):
        opened.log.append(batch("mine", epoch=1, offset=number))
    await opened.log.sync()
    await opened.log.write_snapshot(LogPosition(2, 3), voters(1), [])
    assert opened.crash().log.shape().end == LogPosition(2, 3)


@pytest.mark.parametrize("keep", [Keep.NOTHING, Keep.EVERYTHING])
@pytest.mark.parametrize("journal_bytes", [0, 1 << 20])
def test_after_a_power_cut_during_an_installation_the_log_ends_as_before_or_at_the_snapshot(
    journal_bytes: int, keep: Keep
) -> None:
    """The snapshot is of another history, shorter than the log, whose end is only in the journal."""
    snapshot = LogPosition(3, 5)

    async def install(opened: Opened, operation: int) -> int:
        for number in range(8):
            opened.log.append(batch("mine", epoch=1, offset=number))
            await opened.log.sync()
        content = b"".join(snapshot_batches(snapshot, voters(1), (), timestamp=0))
        await opened.log.store_chunk(snapshot, 0, content)
        first = opened.disk.operation_count
        opened.disk.cut_power_at(operation)
        with contextlib.suppress(PowerCut):
            await opened.log.install(snapshot)
        return opened.disk.operation_count - first

    def end_after_power_cut(operation: int) -> tuple[LogPosition, int]:
        opened = Opened(FaultyDisk(Random(5)), journal_bytes)
        count = asyncio.run(install(opened, operation))
        again = opened.crash(keep)
        end = again.log.shape().end
        asyncio.run(again.store.checkpoint())
        assert again.crash(keep).log.shape().end == end  # the journal has not written another round
        return end, count

    end, count = end_after_power_cut(1 << 60)
    assert end == snapshot
    for operation in range(count):
        assert end_after_power_cut(operation)[0] in (snapshot, LogPosition(1, 8))


class CutOff(InlineOffload):
    """The power fails as soon as a snapshot has its name. Other tasks have had some turns of the loop by then."""

    async def run(self, work: Callable[[], T]) -> T:
        is_finish = isinstance(work, partial) and work.func.__name__ == "finish"
        for _ in range(20 * is_finish):
            await asyncio.sleep(0)
        result = work()
        if is_finish:
            raise PowerCut
        return result


def test_records_synced_during_an_installation_do_not_reappear_after_the_snapshot() -> None:
    """They are appended while a large record is synced, which bypasses the journal."""

    async def install() -> Opened:
        opened = Opened(FaultyDisk(Random(5)), 1 << 20, CutOff())
        opened.log.append(batch("large" * 20_000, epoch=1, offset=0))
        opened.log.append(batch("mine", epoch=1, offset=1))
        large = opened.log.sync()
        for number in range(2, 8):
            opened.log.append(batch("mine", epoch=1, offset=number))
        small = opened.log.sync()
        snapshot = LogPosition(3, 1)
        content = b"".join(snapshot_batches(snapshot, voters(1), (), timestamp=0))
        await opened.log.store_chunk(snapshot, 0, content)
        assert not large.done()
        with pytest.raises(PowerCut):
            await opened.log.install(snapshot)
        assert small.done()
        return opened

    opened = asyncio.run(install())
    for _ in range(3):
        opened = opened.crash()
        assert opened.log.shape().end == LogPosition(3, 1)
        asyncio.run(opened.log.verify())


@on_a_loop
async def test_an_incomplete_snapshot_is_ignored(opened: Opened) -> None:
    opened.log.append(batch("a", epoch=1, offset=0))
    await opened.log.sync()
    await opened.log.store_chunk(LogPosition(4, 50), 0, b"half")
    again = opened.crash(Keep.EVERYTHING)
    assert again.log.shape().snapshots == []
    assert not [path for path in again.disk.paths() if path.endswith(".part")]


class Machine:
    def __init__(self) -> None:
        self.applied: list[int] = []
        """The offsets of batches."""
        self.loaded: list[int] = []
        """The ends of snapshots."""

    async def apply(self, batches: Buffer) -> None:
        self.applied += [header.base_offset for _, header in iter_batches_strict(batches)]

    async def load(self, content: Iterable[bytes], end_offset: int) -> None:
        list(content)
        self.loaded.append(end_offset)

    def snapshot(self) -> Iterable[bytes]:
        return ()

    def leader_changed(self, leader_id: int | None, epoch: int) -> None: ...


@on_a_loop
async def test_records_that_a_failed_disk_may_lack_are_not_applied(opened: Opened) -> None:
    """The two other voters have committed it, and the leader's answer came before the sync here failed."""
    log, machine = opened.log, Machine()
    applier = Applier(log, machine, voters_at=lambda _offset: None, on_snapshot=lambda _snapshot: None)
    log.append(batch("durable here", epoch=1, offset=0))
    await log.sync()
    log.append(batch("durable elsewhere", epoch=1, offset=1))
    opened.disk.fail("sync", "__cluster_metadata")
    with pytest.raises(StorageFailure):
        await log.sync()
    waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    applier.answer_when_applied(waiter, 1, 1)
    applier.add(Committed(2))
    await applier.catch_up()
    assert machine.applied == [0]
    assert applier.applied_offset == 1
    assert not waiter.done()


@on_a_loop
async def test_a_snapshot_replaced_before_it_was_loaded_is_skipped(
    opened: Opened,
) -> None:
    """The state machine was slow, and two snapshots of the leader were installed meanwhile."""
    log, machine = opened.log, Machine()
    applier = Applier(log, machine, voters_at=lambda _offset: None, on_snapshot=lambda _snapshot: None)
    for snapshot in (LogPosition(1, 100), LogPosition(1, 200)):
        content = b"".join(snapshot_batches(snapshot, None, (), timestamp=0))
        await log.store_chunk(snapshot, 0, content)
        await log.install(snapshot)
        applier.add(InstallSnapshot(snapshot))
    await applier.catch_up()
    assert machine.loaded == [200]
    assert applier.applied_offset == 200
