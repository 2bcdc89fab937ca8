"""Random histories of partitions that share a journal, on a failing disk, against a model.

Whatever was acknowledged is there after every crash, in order, and nothing is there that was never written. A failure
names its seed; `run(seed)` replays it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from penstock.observability.clock import ManualClock
from penstock.protocol.records.batch import iter_batches_strict
from penstock.protocol.records.record import decode_records
from penstock.storage.flusher import Flusher
from penstock.storage.log.errors import LogError
from penstock.storage.log.log import Log
from penstock.storage.log_store import LogStore
from penstock.testing.disk import FaultyDisk, Keep, PowerCut
from penstock.testing.offload import LoopOffload
from tests.storage.logs import NOW_MS, append, config_of

PARTITIONS = 4


async def values_of(log: Log, offset: int = 0) -> list[str]:
    values: list[str] = []
    offset = max(offset, log.log_start_offset)
    while offset < log.log_end_offset:
        found = await log.read_cold(offset, 1 << 20, offset_limit=log.log_end_offset)
        for position, _ in iter_batches_strict(found.records):
            values += [(each.value or b"").decode() for each in decode_records(found.records, pos=position)]
        assert found.next_offset > offset
        offset = found.next_offset
    return values


class Partition:
    """What was written to one partition, and what of it was acknowledged."""

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
        return Random(self.incarnation).randbytes(16)  # ids that differ in a few bits pass for damaged ones


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
            filler = "." * self.random.choice([0, 10, 600, 9000, 70_000])
            value = f"{self.value_count}{filler}"
            self.value_count += 1
            self.partitions[number].values.append(value)
            append(log, value)
            self.flusher.request(log)

    async def turn(self) -> None:
        for _ in range(self.random.choice([1, 2, 5])):
            await asyncio.sleep(0)
        self.note_acknowledged()

    def note_acknowledged(self) -> None:
        for number, partition in enumerate(self.partitions):
            log = self.store.get("t", number)
            if log is not None and log.failure is None and partition is not self.changing:
                partition.acknowledge(log.durable_offset)

    async def truncate(self) -> None:
        """As a follower does whose leader has another history: even what it has synced goes."""
        number = self.random.randrange(PARTITIONS)
        partition, log = self.partitions[number], self.log(number)
        offset = self.random.randint(log.log_start_offset, log.log_end_offset)
        partition.earlier.append(partition.values[:offset])
        partition.acknowledged = min(partition.acknowledged, offset)
        self.changing = partition
        await self.store.allow_truncation(log, offset)
        assert log.truncate_to(offset, now_ms=NOW_MS) == offset, self.context
        self.changing = None
        partition.earlier.append(partition.values)
        partition.values = partition.values[:offset]

    async def delete(self) -> None:
        number = self.random.randrange(PARTITIONS)
        partition = self.partitions[number]
        if self.store.get("t", number) is None:
            return
        partition.earlier.append(list(partition.values))
        partition.values = []
        partition.acknowledged = 0
        partition.incarnation += (
            1  # also if the power fails now: metadata would forget the partition at the next start
        )
        if self.random.random() < 0.5:
            partition.earlier = []
            self.store.delete("t", number)
        else:
            await self.store.drop("t", number)
            partition.incarnation -= 1

    async def checkpoint(self) -> None:
        await self.store.checkpoint()
        self.note_acknowledged()

    async def announce_power_cut(self) -> None:
        self.disk.cut_power_at(self.random.randrange(25))

    async def stop_cleanly(self) -> None:
        self.disk.cut_power_at(1 << 60)
        await self.store.close(self.flusher)
        self.note_acknowledged()
        self.disk = self.disk.kill()
        self.open()
        assert self.store.was_clean, self.context
        await self.check()

    # -- crashes --------------------------------------------------------------------------------------

    async def restart(self) -> None:
        self.note_acknowledged()
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
        """Raises `PowerCut` when the power fails meanwhile, in the step or in what it waits for."""
        task = asyncio.ensure_future(step())
        while not task.done():
            await asyncio.sleep(0)
            if not self.disk.has_power:
                task.cancel()
                raise PowerCut
        task.result()

    async def recover(self) -> None:
        with self.store.leaving_syncs():
            logs = [self.log(number) for number in range(PARTITIONS)]
        self.store.recovered()
        for log in logs:
            await self.flusher.sync(log)

    async def check(self) -> None:
        assert not self.store.journal_damage, f"{self.context}: {self.store.journal_damage}"
        for number, partition in enumerate(self.partitions):
            log = self.log(number)
            found = await values_of(log)
            assert log.durable_offset == log.log_end_offset, f"{self.context}, partition {number}"
            possible = [
                each for each in (partition.values, *partition.earlier) if each[: len(found)] == found
            ]
            assert possible, f"{self.context}, partition {number}: nobody wrote that"
            assert found[: partition.acknowledged] == partition.values[: partition.acknowledged]
            assert len(found) >= partition.acknowledged, (
                f"{self.context}, partition {number}: records are lost"
            )
            partition.values, partition.earlier = found, []
            partition.acknowledged = len(found)


async def _run(seed: int, step_count: int) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)  # callbacks without power
    history = History(seed)
    steps = [
        (20, history.append),
        (14, history.turn),
        (2, history.truncate),
        (1, history.delete),
        (2, history.checkpoint),
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
        except (PowerCut, LogError):
            assert not history.disk.has_power, history.context
            await history.restart()
    await history.restart()


def run(seed: int, step_count: int = 80) -> None:
    asyncio.run(_run(seed, step_count))


@pytest.mark.parametrize("seed", range(60))
def test_partitions_with_one_journal_keep_every_acknowledged_record(seed: int) -> None:
    run(seed)
