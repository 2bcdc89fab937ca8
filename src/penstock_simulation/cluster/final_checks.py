"""The state that a cluster must reach when no more faults come: within a bounded time, and the same on all nodes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import crc_is_valid, parse_header
from penstock.protocol.records.errors import CorruptRecords
from penstock.storage.errors import LogError
from penstock_simulation.cluster import plan
from penstock_simulation.cluster.checkers.replicas import Batch, batches_of
from penstock_simulation.cluster.clients.client import Client, CoordinatorClient, NoAnswer
from penstock_simulation.cluster.clients.member import committed_offset
from penstock_simulation.cluster.clients.producer import Batch as NewBatch
from penstock_simulation.cluster.clients.producer import Producer
from penstock_simulation.cluster.machine import Machine
from penstock_simulation.cluster.plan import partitions_of
from penstock_simulation.cluster.values import PartitionName, Records, records_of_batch
from penstock_simulation.cluster.workload import Workload, committed_reader
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.violation import Violation

T = TypeVar("T")
RECOVERY_S_MAX = 60.0


class FinalChecks:
    def __init__(
        self, loop: SimulatedLoop, machines: Sequence[Machine], client: Client, workload: Workload
    ) -> None:
        self._loop = loop
        self._machines = machines
        self._client = client
        self._history = client.history
        self._workload = workload

    async def wait_for_recovery(self) -> None:
        """Wait while clients still run. Raises `Violation`."""
        await self._wait("every node serves", self._describe_down)
        await self._wait("every partition has a leader and all replicas in sync", self._describe_out_of_sync)
        orders = partitions_of(plan.ORDERS)
        await self._wait("the group reads all", lambda: self._workload.group.describe_unowned(orders))

    async def check(self) -> None:
        """Check everything after the clients have ended. Raises `Violation`."""
        await self._write_once_more()
        await self._wait("every partition has a leader and all replicas in sync", self._describe_out_of_sync)
        await self._wait("all replicas have all records", self._describe_behind)
        await self._wait("flipped bits are repaired", self._describe_corrupt)
        await self._wait("all nodes have the same metadata", self._describe_metadata_lag)
        await self._wait("all transactions have ended", self._describe_unstable, "last stable offset")
        for machine, image in zip(self._machines, self._images(), strict=True):
            self._history.metadata.on_image(machine.name, image)
            self._history.metadata.check_final(machine.name, image)
        for partition in self._all_partitions():
            self._check_bytes(partition)
        for partition in partitions_of(*self._workload.topics):
            if partition[0] != plan.RECREATED:
                self._check_records(partition)
        self._history.check()
        await self._check_offsets()
        await self._check_transactions()

    async def _wait(
        self, goal: str, describe_missing: Callable[[], str | None], invariant: str = "liveness"
    ) -> None:
        deadline_s = self._loop.time() + RECOVERY_S_MAX
        while (missing := describe_missing()) is not None:
            self._history.check()
            if self._loop.time() > deadline_s:
                raise Violation(invariant, f"not within {RECOVERY_S_MAX} s: {goal} ({missing})")
            await asyncio.sleep(0.2)

    def _images(self) -> list[MetadataImage]:
        return [each.image for each in self._machines if each.image is not None]

    def _replicas(self, partition: PartitionName) -> Iterator[tuple[Machine, Replica]]:
        for machine in self._machines:
            if (replica := machine.replica(partition)) is not None:
                yield machine, replica

    def _all_partitions(self) -> list[PartitionName]:
        topics = self._images()[0].topics.values()
        return [(topic.name, number) for topic in topics for number in topic.partitions]

    # -- conditions: each describes one thing that is missing -----------------------------------------

    def _describe_down(self) -> str | None:
        return ", ".join(each.name for each in self._machines if not each.is_serving) or None

    def _describe_out_of_sync(self) -> str | None:
        for image in self._images():
            for topic in image.topics.values():
                for number, partition in topic.partitions.items():
                    is_moving = partition.adding_replicas or partition.removing_replicas
                    if partition.leader < 0 or is_moving or set(partition.isr) != set(partition.replicas):
                        return f"{topic.name}-{number}: {partition}"
        return None

    def _describe_behind(self) -> str | None:
        for partition in self._all_partitions():
            if partition in plan.INTERNAL:  # coordinators write at any time
                continue
            ends = {
                machine.name: (replica.high_watermark, replica.log.log_end_offset)
                for machine, replica in self._replicas(partition)
            }
            if len({offset for each in ends.values() for offset in each}) != 1:
                return f"{partition}: {ends}"
        return None

    def _describe_corrupt(self) -> str | None:
        for partition in self._all_partitions():
            for machine, replica in self._replicas(partition):
                if self._history.replicas.is_corrupted(replica):
                    try:
                        records_of(replica)
                    except (Violation, LogError, CorruptRecords) as error:
                        return f"{partition} on {machine.name}: {error}"
        return None

    def _describe_metadata_lag(self) -> str | None:
        offsets = {image.offset for image in self._images()}
        return f"offsets {sorted(offsets)}" if len(offsets) > 1 else None

    def _describe_unstable(self) -> str | None:
        for partition in partitions_of(plan.LEDGER, plan.TRIMMED) + plan.INTERNAL[:1]:
            for machine, replica in self._replicas(partition):
                stable, high_watermark = replica.last_stable_offset, replica.high_watermark
                if stable < high_watermark:
                    return f"{partition} on {machine.name}: {stable}, high watermark {high_watermark}"
        return None

    # -- checks ---------------------------------------------------------------------------------------

    async def _write_once_more(self) -> None:
        topics = (plan.ORDERS, plan.SINGLE, plan.PAIR, plan.EXPIRING)
        for partition in partitions_of(*(name for name in topics if name in self._workload.topics)):
            try:
                async with asyncio.timeout(RECOVERY_S_MAX):
                    await Producer(self._client, partition).send(NewBatch([b"last"]))
            except TimeoutError:
                raise Violation("liveness", f"{partition} takes no records") from None

    def _check_bytes(self, partition: PartitionName) -> None:
        """Compare the replicas from the highest log start to the lowest high watermark."""
        replicas = dict(self._replicas(partition))
        start = max(each.log.log_start_offset for each in replicas.values())
        end = min(each.high_watermark for each in replicas.values())
        found = {machine.name: list(batches_of(each, start, end)) for machine, each in replicas.items()}
        compare_logs(partition, found)

    def _check_records(self, partition: PartitionName) -> None:
        replicas = [replica for _, replica in self._replicas(partition)]
        start = max(each.log.log_start_offset for each in replicas)
        if partition[0] == plan.EXPIRING:
            self._history.on_deleted(partition, start)
        first, *_ = [[each for each in records_of(replica) if each[0] >= start] for replica in replicas]
        self._history.records.check_log(partition, first)
        if partition[0] in (plan.ORDERS, plan.SINGLE, plan.PAIR):
            self._history.records.check_numbers(partition, first)

    async def _check_offsets(self) -> None:
        for each in (self._workload.committer, *self._workload.offsets):
            await self._insist(each.check)
        coordinator = CoordinatorClient(self._client, plan.GROUP)
        for partition in partitions_of(plan.ORDERS):
            coordinator.forget()
            await self._insist(partial(committed_offset, self._client, coordinator, plan.GROUP, partition))

    async def _check_transactions(self) -> None:
        found: dict[PartitionName, Records] = {}
        starts: dict[PartitionName, int] = {}
        for partition in partitions_of(plan.LEDGER, plan.TRIMMED):
            reader = committed_reader(self._client, partition)
            found[partition] = await self._insist(reader.read_all)
            starts[partition] = reader.start
        self._history.transactions.check_logs(found, starts)

    async def _insist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat a request until it is answered. Raises `Violation`."""
        reason = ""
        deadline_s = self._loop.time() + RECOVERY_S_MAX
        while self._loop.time() < deadline_s:
            try:
                return await attempt()
            except NoAnswer as error:
                reason = str(error)
                await self._client.back_off()
        raise Violation("liveness", f"no answer within {RECOVERY_S_MAX} s: {reason}")


def compare_logs(partition: PartitionName, found: Mapping[str, Sequence[Batch]]) -> None:
    """Check that all replicas have the same batches, byte for byte. Raises `Violation`."""
    (first_name, first), *others = found.items()
    for name, batches in others:
        for mine, theirs in zip(batches, first, strict=False):
            if mine != theirs:
                detail = f"on {name} and {first_name}: {mine.difference(theirs)}"
                raise Violation("logs agree", f"{partition} {detail}")
        if len(batches) != len(first):
            detail = f"{len(batches)} batches on {name} and {len(first)} on {first_name}"
            raise Violation("logs agree", f"{partition} has {detail}")


def records_of(replica: Replica) -> Records:
    """Return all records of a log, with valid checksums and without a gap. Raises `Violation`."""
    name = f"{replica.topic}-{replica.partition}"
    start = offset = replica.log.log_start_offset
    found: Records = []
    for batch in batches_of(replica, start):
        if batch.base_offset != offset and not batch.base_offset < start < batch.next_offset:
            detail = f"{name}: a batch begins at offset {batch.base_offset} instead of {offset}"
            raise Violation("contiguous", detail)
        if not crc_is_valid(batch.content, 0, len(batch.content)):
            raise Violation("intact", f"{name}: the batch at offset {offset} is corrupt")
        if not parse_header(batch.content).is_control:
            found += [each for each in records_of_batch(batch.content) if each[0] >= start]
        offset = batch.next_offset
    if offset < replica.high_watermark:
        raise Violation("intact", f"{name}: the log cannot be read beyond offset {offset}")
    return found
