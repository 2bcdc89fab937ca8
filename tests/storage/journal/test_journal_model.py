"""Random histories of partitions that share a journal, on a failing disk, against a model.

After every crash all acknowledged records are there, in order, and none that was never written. Checkpoints
and DeleteRecords run beside appends, truncations and deletions. A failure names its seed; `run(seed)` replays it.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Coroutine
from random import Random

import pytest

from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.record import decode_records
from penstock.runtime.clock import ManualClock
from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, RECOVERY_POINTS, PartitionName
from penstock.storage.errors import LogError, StorageError
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.store.log_store import LogStore
from penstock.testing.offload import LoopOffload
from penstock_simulation.disk import FaultyDisk, Keep, PowerCut
from tests.storage.logs import NOW_MS, append, config_of

PARTITIONS = 4
BATCH_RECORDS_MAX = 5


async def values_of(log: Log, offset: int = 0) -> list[str]:
    values: list[str] = []
    offset = max(offset, log.log_start_offset)
    while offset < log.log_end_offset:
        found = await log.read_cold(offset, 1 << 20, offset_limit=log.log_end_offset)
        for position, header in iter_batches_strict(found.records):
            records = [*decode_records(found.records, pos=position)]
            first = max(0, offset - header.base_offset)  # the log may start within a batch
            values += [(each.value or b"").decode() for each in records[first:]]
        assert found.next_offset > offset
        offset = found.next_offset
    return values


class Partition:
    """The records written to one partition, and how many of them were acknowledged."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self.earlier: list[list[str]] = []
        """What it held before truncations and deletions of which a crash may know nothing."""
        self.acknowledged = 0
        self.incarnation = 0

    def acknowledge(self, offset: int) -> None:
        if offset > self.acknowledged:
            self.acknowledged = offset
            self.earlier = []  # later entries of the journal are durable, so is the truncation before them

    def topic_id(self) -> bytes:
        return Random(self.incarnation).randbytes(
            16
        )  # ids that differ in a few bits are taken for damaged ones


class History:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.context = f"seed {seed}"
        self.disk = FaultyDisk(Random(seed))
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        self.partitions = [Partition() for _ in range(PARTITIONS)]
        self.config = config_of(segment_records=self.random.choice([3, 20, 1000]))
        self.journal_bytes = self.random.choice([4096, 16_384, 262_144])
        self.disk.can_sync_all = self.random.random() < 0.7
        self.has_fault = False
        """Whether files of a partition cannot be opened: its log may have failed by that."""
        self.background: set[asyncio.Task[None]] = set()
        self.value_count = 0
        self.changing: Partition | None = None
        """Which is being truncated, and may or may not be after a crash."""
        self.open()

    def open(self) -> None:
        self.store = LogStore.open(
            "/data",
            files=self.disk,
            node_id=1,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: self.random.randbytes(16),
            clock=ManualClock(NOW_MS),
            offload=LoopOffload(),
            journal_bytes=self.journal_bytes,
        )
        self.flusher = Flusher(LoopOffload(), ManualClock(), journal=self.store.journal)

    def log(self, number: int) -> Log:
        partition = self.partitions[number]
        return self.store.open_or_create("t", partition.topic_id(), number, self.config)

    # -- steps ----------------------------------------------------------------------------------------

    async def append(self) -> None:
        number = self.random.randrange(PARTITIONS)
        log = self.log(number)
        for _ in range(self.random.choice([1, 1, 3])):
            filler = "." * self.random.choice([0, 10, 600, 9000, 20_000, 70_000])
            count = self.random.choice([1, 1, 2, BATCH_RECORDS_MAX])
            values = [f"{self.value_count + each}{filler}" for each in range(count)]
            self.value_count += count
            append(log, *values)
            self.partitions[number].values += values
            self.flusher.request(log)

    async def turn(self) -> None:
        for _ in range(self.random.choice([1, 2, 5])):
            await asyncio.sleep(0)
        self.note_acknowledged()

    def note_acknowledged(self) -> None:
        for number, partition in enumerate(self.partitions):
            log = self.store.get("t", number)
            is_running = self.disk.has_power and log is not None and log.failure is None
            if log is not None and is_running and partition is not self.changing:
                partition.acknowledge(log.durable_offset)

    async def truncate(self) -> None:
        """As a follower whose log diverged from its leader's: even synced records are removed."""
        number = self.random.randrange(PARTITIONS)
        partition, log = self.partitions[number], self.log(number)
        offset = self.random.randint(max(0, log.log_start_offset - 1), log.log_end_offset)
        partition.earlier.append(partition.values[:offset])
        # A batch that contains the offset is removed as a whole.
        partition.acknowledged = min(partition.acknowledged, max(0, offset - BATCH_RECORDS_MAX + 1))
        self.changing = partition
        if self.random.random() < 0.4:
            await self.try_truncation(log, offset)
            if self.random.random() < 0.5:  # the leader has changed meanwhile
                self.changing = None
                return
        await self.store.allow_truncation(log, offset)
        end_offset = log.truncate_to(offset, now_ms=NOW_MS)
        assert log.log_start_offset <= end_offset, self.context
        partition.acknowledged = min(partition.acknowledged, end_offset)
        self.changing = None
        partition.earlier.append(partition.values)
        partition.values = partition.values[:end_offset]

    async def try_truncation(self, log: Log, offset: int) -> None:
        """The disk refuses one operation of the truncation."""
        if self.random.random() < 0.5:
            await self.flusher.drain()  # else the log fails by its own sync
            log.release()
            fault = self.disk.fail("open", f"/t-{log.partition}/", times=1)
        else:
            name = self.random.choice([RECOVERY_POINTS, HIGH_WATERMARKS])
            fault = self.disk.fail("write", name, error=errno.ENOSPC)
        try:
            await self.store.allow_truncation(log, offset)
        except (StorageError, OSError):
            assert self.disk.has_power, self.context
        finally:
            self.disk.heal(fault)

    async def delete(self) -> None:
        number = self.random.randrange(PARTITIONS)
        partition = self.partitions[number]
        if self.store.get("t", number) is None:
            return
        topic_id = partition.topic_id()
        partition.earlier.append(list(partition.values))
        partition.values = []
        partition.acknowledged = 0
        partition.incarnation += (
            1  # also if the power fails now: metadata would forget the partition at the next start
        )
        if self.random.random() < 0.5:
            partition.earlier = []
            self.store.delete("t", topic_id, number)
        else:
            await self.store.drop("t", topic_id, number)
            partition.incarnation -= 1

    def in_background(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    async def checkpoint(self) -> None:
        self.in_background(self.store.checkpoint())

    async def save_high_watermarks(self) -> None:
        """Of all durable records: other replicas have them too."""
        found = {
            PartitionName("t", log.partition): log.durable_offset for log in self.store if log.failure is None
        }
        self.in_background(self.store.save_high_watermarks(found))

    async def delete_records(self) -> None:
        log = self.log(self.random.randrange(PARTITIONS))
        offset = self.random.randint(log.log_start_offset, max(log.log_start_offset, log.durable_offset))
        log.advance_log_start(offset)
        self.in_background(self.save_offsets())

    async def save_offsets(self) -> None:
        await self.store.save_offsets()

    async def roll(self) -> None:
        self.log(self.random.randrange(PARTITIONS)).roll(now_ms=NOW_MS)

    async def release_idle(self) -> None:
        for _ in range(2):
            self.store.release_idle()

    async def refuse_to_open(self) -> None:
        """Too many files are open, once or for a while."""
        await self.release_idle()
        self.has_fault = True
        number = self.random.randrange(PARTITIONS)
        times = self.random.choice([1, 3, None])
        self.disk.fail("open", f"/t-{number}/", error=errno.EMFILE, times=times)

    async def heal(self) -> None:
        self.disk.heal()

    async def resize(self) -> None:
        """From the next start on."""
        self.journal_bytes = self.random.choice([0, 4096, 16_384, 65_536, 262_144])

    async def announce_power_cut(self) -> None:
        self.disk.cut_power_at(self.random.randrange(25))

    async def stop_cleanly(self) -> None:
        self.disk.cut_power_at(1 << 60)
        if self.has_fault:
            await self.restart()
        if self.background:
            await asyncio.wait(self.background)
        await self.store.close(self.flusher)
        self.note_acknowledged()
        self.disk = self.disk.kill()
        self.open()
        assert self.store.was_clean, self.context
        await self.check()

    # -- crashes --------------------------------------------------------------------------------------

    async def restart(self) -> None:
        for task in list(self.background):
            task.cancel()
        self.note_acknowledged()
        self.has_fault = False
        while True:
            if self.random.random() < 0.3:
                self.disk = self.disk.kill()
            else:
                self.disk = self.disk.crash(
                    self.random.choice(list(Keep)), page_bytes=self.random.choice([512, 4096])
                )
            if self.random.random() < 0.3:
                self.disk.cut_power_at(self.random.randrange(40))
            try:
                self.open()
                await self.attempt(self.recover)
            except PowerCut:
                continue
            self.disk.cut_power_at(1 << 60)
            self.changing = None
            break
        await self.check()

    async def attempt(self, step: Callable[[], Awaitable[None]]) -> None:
        """Raises `PowerCut` when the power fails in the step or in work that it waits for."""
        task = asyncio.ensure_future(step())
        while not task.done():
            await asyncio.sleep(0)
            if not self.disk.has_power:
                task.cancel()
                raise PowerCut
        task.result()

    async def recover(self) -> None:
        with self.store.deferred_syncs():
            logs = [self.log(number) for number in range(PARTITIONS)]
        await self.store.sync_opened()
        for log in logs:
            await self.flusher.sync(log)
        await self.store.recovered()

    async def check(self) -> None:
        assert not self.store.journal_damage, f"{self.context}: {self.store.journal_damage}"
        for number, partition in enumerate(self.partitions):
            log = self.log(number)
            found = await values_of(log)
            context = f"{self.context}, partition {number}"
            start, end = log.log_start_offset, log.log_end_offset
            assert (log.durable_offset, log.losses, len(found)) == (end, (), end - start), context
            possible = [
                each
                for each in (partition.values, *partition.earlier)
                if each[start:end] == found and len(each) >= end
            ]
            assert possible, f"{context}: it was never written"
            assert end >= partition.acknowledged, f"{context}: records are lost"
            acknowledged = partition.values[start : partition.acknowledged]
            assert found[: len(acknowledged)] == acknowledged, f"{context}: other records are there"
            partition.values, partition.earlier = possible[0][:end], []
            partition.acknowledged = end


async def _run(seed: int, step_count: int) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)  # callbacks without power
    history = History(seed)
    steps = [
        (20, history.append),
        (14, history.turn),
        (2, history.truncate),
        (1, history.delete),
        (3, history.checkpoint),
        (1, history.save_high_watermarks),
        (1, history.delete_records),
        (1, history.roll),
        (1, history.release_idle),
        (1, history.refuse_to_open),
        (3, history.heal),
        (1, history.resize),
        (2, history.announce_power_cut),
        (1, history.stop_cleanly),
        (3, history.restart),
    ]
    weights = [weight for weight, _ in steps]
    for _ in range(step_count):
        step = history.random.choices(steps, weights)[0][1]
        try:
            if step == history.restart:
                await step()
            else:
                await history.attempt(step)
        except (PowerCut, LogError, OSError):
            assert history.has_fault or not history.disk.has_power, history.context
            await history.restart()
    await history.restart()


def run(seed: int, step_count: int = 80) -> None:
    asyncio.run(_run(seed, step_count))


@pytest.mark.parametrize("seed", range(60))
def test_partitions_with_one_journal_keep_every_acknowledged_record(seed: int) -> None:
    run(seed)
