"""What must be so when no more faults come: within a bounded time all is up, in sync and the same everywhere."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import crc_is_valid, parse_header
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import iter_records
from penstock.storage.log.errors import LogError
from penstock.testing.simulation.cluster.checkers.records import Found, PartitionName
from penstock.testing.simulation.cluster.checkers.replicas import Batch, batches_of
from penstock.testing.simulation.cluster.clients import client as clients
from penstock.testing.simulation.cluster.clients.client import Client, NoAnswer
from penstock.testing.simulation.cluster.clients.member import committed_offset
from penstock.testing.simulation.cluster.clients.producer import Batch as NewBatch
from penstock.testing.simulation.cluster.clients.producer import Producer
from penstock.testing.simulation.cluster.clients.reader import Reader
from penstock.testing.simulation.cluster.machine import Machine
from penstock.testing.simulation.cluster.plan import (
    FLEETING,
    GROUP,
    INTERNAL,
    JOURNAL,
    LEDGER,
    MAIN,
    ORDERS,
    PAIR,
    PARTITIONS,
    RENEWED,
    SOLO,
)
from penstock.testing.simulation.cluster.usage import Usage
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.raft.checker import Violation

T = TypeVar("T")
HEALED_S_MAX = 60.0


class Healing:
    def __init__(
        self, loop: SimulatedLoop, machines: list[Machine], client: Client, side_topics: Sequence[str]
    ) -> None:
        """`side_topics` are those of `SIDES` that there are."""
        self._topics = [*MAIN, *side_topics]
        self._loop = loop
        self._machines = machines
        self._history = client.history
        self._client = client

    async def settle(self, usage: Usage) -> None:
        """While everybody still goes on. Raises `Violation`."""
        await self._becomes("every node serves", self._not_serving)
        await self._becomes("every partition is led, with all replicas in sync", self._not_in_sync)
        await self._becomes("the group reads all", lambda: usage.group.not_owned(PARTITIONS[ORDERS]))

    async def check(self, usage: Usage) -> None:
        """When everybody has ended. Raises `Violation`."""
        await self._write_once_more()
        await self._becomes("every partition is led, with all replicas in sync", self._not_in_sync)
        await self._becomes("all replicas have everything", self._not_replicated)
        await self._becomes("what has rotted is mended", self._not_mended)
        await self._becomes("all nodes know the same", self._not_agreed)
        await self._becomes("all transactions have ended", self._not_stable, "last stable offset")
        for machine, image in zip(self._machines, self._images(), strict=True):
            self._history.metadata.has_image(machine.name, image)
            self._history.metadata.ends_with(machine.name, image)
        for partition in self._stored():
            self._check_bytes(partition)
        for partition in [each for name in self._topics for each in PARTITIONS[name] if name != RENEWED]:
            self._check_records(partition)
        self._history.check()
        await self._check_offsets(usage)
        await self._check_transactions()

    async def _becomes(
        self, wish: str, missing: Callable[[], str | None], invariant: str = "liveness"
    ) -> None:
        deadline_s = self._loop.time() + HEALED_S_MAX
        while (lack := missing()) is not None:
            self._history.check()
            if self._loop.time() > deadline_s:
                raise Violation(invariant, f"not within {HEALED_S_MAX} s: {wish} ({lack})")
            await asyncio.sleep(0.2)

    def _images(self) -> list[MetadataImage]:
        return [each.broker.services.controller.image for each in self._machines if each.broker is not None]

    def _not_serving(self) -> str | None:
        down = [each.name for each in self._machines if not each.is_serving]
        return ", ".join(down) or None

    def _not_in_sync(self) -> str | None:
        for image in self._images():
            for topic in image.topics.values():
                for number, partition in topic.partitions.items():
                    is_moving = partition.adding_replicas or partition.removing_replicas
                    if partition.leader < 0 or is_moving or set(partition.isr) != set(partition.replicas):
                        return f"{topic.name}-{number}: {partition}"
        return None

    async def _write_once_more(self) -> None:
        wanted = [name for name in (ORDERS, SOLO, PAIR, FLEETING) if name in self._topics]
        for partition in [each for name in wanted for each in PARTITIONS[name]]:
            try:
                async with asyncio.timeout(HEALED_S_MAX):
                    await Producer(self._client, partition).send(NewBatch([b"last"]))
            except TimeoutError:
                raise Violation("liveness", f"{partition} takes no records") from None

    def _replicas(self, partition: PartitionName) -> Iterator[tuple[Machine, Replica]]:
        for machine in self._machines:
            replica = None if machine.broker is None else machine.broker.services.replicas.get(*partition)
            if replica is not None:
                yield machine, replica

    def _stored(self) -> list[PartitionName]:
        """All partitions there are."""
        topics = self._images()[0].topics.values()
        return [(topic.name, number) for topic in topics for number in topic.partitions]

    def _not_replicated(self) -> str | None:
        for partition in self._stored():
            if partition in INTERNAL:  # coordinators have their own times
                continue
            ends = {
                machine.name: (replica.high_watermark, replica.log.log_end_offset)
                for machine, replica in self._replicas(partition)
            }
            if len({offset for each in ends.values() for offset in each}) != 1:
                return f"{partition}: {ends}"
        return None

    def _not_mended(self) -> str | None:
        for partition in self._stored():
            for machine, replica in self._replicas(partition):
                if self._history.replicas.is_rotten(replica):
                    try:
                        records_of(replica)
                    except (Violation, LogError, CorruptRecords) as error:
                        return f"{partition} on {machine.name}: {error}"
        return None

    def _not_agreed(self) -> str | None:
        offsets = {image.offset for image in self._images()}
        return f"offsets {sorted(offsets)}" if len(offsets) > 1 else None

    def _not_stable(self) -> str | None:
        for partition in PARTITIONS[LEDGER] + PARTITIONS[JOURNAL] + INTERNAL[:1]:
            for machine, replica in self._replicas(partition):
                stable, high_watermark = replica.last_stable_offset, replica.high_watermark
                if stable < high_watermark:
                    return f"{partition} on {machine.name}: {stable}, and {high_watermark} is committed"
        return None

    def _check_bytes(self, partition: PartitionName) -> None:
        """From where the last of them starts up to what all know to be committed."""
        replicas = [replica for _, replica in self._replicas(partition)]
        start = max(each.log.log_start_offset for each in replicas)
        end = min(each.high_watermark for each in replicas)
        compare(
            partition,
            {machine.name: list(batches_of(r, start, end)) for machine, r in self._replicas(partition)},
        )

    def _check_records(self, partition: PartitionName) -> None:
        replicas = dict(self._replicas(partition))
        start = max(each.log.log_start_offset for each in replicas.values())
        if partition[0] == FLEETING:
            self._history.deleted_before(partition, start)
        found = {
            machine.name: [each for each in records_of(replica) if each[0] >= start]
            for machine, replica in replicas.items()
        }
        first = next(iter(found.values()))
        self._history.records.ends_with(partition, first)
        if partition[0] in (ORDERS, SOLO, PAIR):
            self._history.records.is_numbered(partition, first)

    async def _check_offsets(self, usage: Usage) -> None:
        for look in (usage.clerk.look, *(each.look for each in usage.offsets)):
            await self._insist(look)
        for name in PARTITIONS[ORDERS]:
            await self._insist(partial(self._committed_offset, name))

    async def _committed_offset(self, partition: PartitionName) -> int:
        coordinator = await self._client.coordinator_of(GROUP, clients.GROUP)
        return await committed_offset(self._client, coordinator, GROUP, partition)

    async def _check_transactions(self) -> None:
        checker = self._history.transactions
        found: dict[PartitionName, Found] = {}
        starts: dict[PartitionName, int] = {}
        for partition in PARTITIONS[LEDGER] + PARTITIONS[JOURNAL]:
            reader = Reader(
                self._client, partition, checker.reads, is_committed_only=True, passed=checker.passes
            )
            found[partition] = await self._insist(reader.read_all)
            starts[partition] = reader.start
        checker.ends_with(found, starts)

    async def _insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until it is answered."""
        why = ""
        deadline_s = self._loop.time() + HEALED_S_MAX
        while self._loop.time() < deadline_s:
            try:
                return await ask()
            except NoAnswer as error:
                why = str(error)
                await self._client.rest()
        raise Violation("liveness", f"not answered within {HEALED_S_MAX} s: {why}")


def compare(partition: PartitionName, found: dict[str, list[Batch]]) -> None:
    """All replicas have the same, byte for byte. Raises `Violation`."""
    (first_name, first), *others = found.items()
    for name, batches in others:
        for mine, theirs in zip(batches, first, strict=False):
            if mine != theirs:
                detail = f"on {name} and {first_name}: {mine.difference(theirs)}"
                raise Violation("logs agree", f"{partition} {detail}")
        if len(batches) != len(first):
            raise Violation(
                "logs agree", f"{partition} has {len(batches)} batches on {name} and {len(first)} elsewhere"
            )


def records_of(replica: Replica) -> Found:
    """All of a log, CRC checked, without a gap. Raises `Violation`."""
    name = f"{replica.topic}-{replica.partition}"
    start = offset = replica.log.log_start_offset
    found: Found = []
    for batch in batches_of(replica, start):
        if batch.base_offset != offset and not batch.base_offset < start < batch.next_offset:
            raise Violation("contiguous", f"{name}: {batch.base_offset} comes where {offset} should")
        if not crc_is_valid(batch.content, 0, len(batch.content)):
            raise Violation("intact", f"{name}: the batch at {offset} is damaged")
        if not parse_header(batch.content).is_control:
            records = iter_records(batch.content)
            found += [(each.offset, each.value or b"") for each in records if each.offset >= start]
        offset = batch.next_offset
    if offset < replica.high_watermark:
        raise Violation("intact", f"{name}: nothing is given at {offset}")
    return found
