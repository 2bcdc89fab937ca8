"""What must be so when no more faults come: within a bounded time all is up, in sync and the same everywhere."""

import asyncio
from collections.abc import Callable, Iterator

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import crc_is_valid, iter_batches_strict
from penstock.protocol.records.record import iter_records
from penstock.storage.log_values import LogSlice
from penstock.testing.simulation.cluster.clients import Client, Producer
from penstock.testing.simulation.cluster.history import History, PartitionName
from penstock.testing.simulation.cluster.machine import Machine
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.raft.checker import Violation

HEALED_S_MAX = 60.0
_READ_BYTES = 1 << 30


class Healing:
    def __init__(
        self,
        loop: SimulatedLoop,
        machines: list[Machine],
        history: History,
        client: Client,
        partitions: list[PartitionName],
    ) -> None:
        self._loop = loop
        self._machines = machines
        self._history = history
        self._client = client
        self._partitions = partitions

    async def check(self) -> None:
        """Raises `Violation`."""
        await self._becomes("every node serves", self._not_serving)
        await self._becomes("every partition is led, with all replicas in sync", self._not_in_sync)
        await self._write_once_more()
        await self._becomes("all replicas have everything", self._not_replicated)
        await self._becomes("all nodes know the same", self._not_agreed)
        self._check_topics()
        for partition in self._partitions:
            self._check_records(partition)

    async def _becomes(self, wish: str, missing: Callable[[], str | None]) -> None:
        deadline_s = self._loop.time() + HEALED_S_MAX
        while (lack := missing()) is not None:
            self._history.check()
            if self._loop.time() > deadline_s:
                raise Violation("liveness", f"not within {HEALED_S_MAX} s: {wish} ({lack})")
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
                    if partition.leader < 0 or set(partition.isr) != set(partition.replicas):
                        return f"{topic.name}-{number}: {partition}"
        return None

    async def _write_once_more(self) -> None:
        for partition in self._partitions:
            try:
                async with asyncio.timeout(HEALED_S_MAX):
                    await Producer(self._client, partition).send([b"the last"])
            except TimeoutError:
                raise Violation("liveness", f"{partition} takes no records") from None

    def _replicas(self, partition: PartitionName) -> Iterator[tuple[Machine, Replica]]:
        for machine in self._machines:
            replica = None if machine.broker is None else machine.broker.services.replicas.get(*partition)
            if replica is not None:
                yield machine, replica

    def _not_replicated(self) -> str | None:
        for partition in self._partitions:
            ends = {
                machine.name: (replica.high_watermark, replica.log.log_end_offset)
                for machine, replica in self._replicas(partition)
            }
            if len({offset for each in ends.values() for offset in each}) != 1:
                return f"{partition}: {ends}"
        return None

    def _not_agreed(self) -> str | None:
        offsets = {image.offset for image in self._images()}
        if len(offsets) > 1:
            return f"offsets {sorted(offsets)}"
        first, *others = (_facts(image) for image in self._images())
        for other in others:
            for name, fact in first.items():
                if other[name] != fact:
                    raise Violation("metadata", f"{name} differ at one offset: {fact} and {other[name]}")
        return None

    def _check_topics(self) -> None:
        for machine, image in zip(self._machines, self._images(), strict=True):
            missing = self._history.topics_created - set(image.topics)
            if missing:
                raise Violation("metadata", f"{machine.name} does not know of {sorted(missing)}")

    def _check_records(self, partition: PartitionName) -> None:
        found = {machine.name: _records(replica, partition) for machine, replica in self._replicas(partition)}
        first, *others = found.values()
        for name, log in zip(list(found)[1:], others, strict=True):
            if log != first:
                at = next(i for i, (a, b) in enumerate(zip(log, first, strict=False)) if a != b)
                raise Violation(
                    "logs agree", f"{partition} on {name} has {log[at]} and {first[at]} elsewhere"
                )
        values = dict(first)
        for offset, value in self._history.acknowledged.get(partition, {}).items():
            if values.get(offset) != value:
                raise Violation(
                    "acknowledged", f"{partition}: {values.get(offset)!r} is at {offset}, not {value!r}"
                )
        for offset, value in self._history.read.get(partition, {}).items():
            if values.get(offset) != value:
                raise Violation(
                    "read", f"{partition}: {value!r} was read at {offset}: {values.get(offset)!r}"
                )
        numbers = [int(value) for _, value in first if value.isdigit()]
        if numbers != list(range(len(numbers))):
            raise Violation("order", f"{partition}: {numbers} are not in order, each once")


def _facts(image: MetadataImage) -> dict[str, object]:
    return {
        "topics": {
            name: (topic.topic_id, dict(topic.partitions)) for name, topic in sorted(image.topics.items())
        },
        "brokers": dict(sorted(image.brokers.items())),
        "settings": {key: dict(each) for key, each in sorted(image.configs.items())},
        "features": image.features.finalized,
        "producer ids": image.next_producer_id,
    }


def _records(replica: Replica, partition: PartitionName) -> list[tuple[int, bytes]]:
    """All of a log, CRC checked, without a gap."""
    log = replica.log
    offset = log.log_start_offset
    found: list[tuple[int, bytes]] = []
    while offset < replica.high_watermark:
        piece = log.read(offset, _READ_BYTES, offset_limit=replica.high_watermark)
        assert isinstance(piece, LogSlice), "a disk in memory is never cold"
        batches = bytes(piece.records)
        for pos, header in iter_batches_strict(batches):
            if header.base_offset != offset:
                raise Violation(
                    "contiguous", f"{partition}: {header.base_offset} comes where {offset} should"
                )
            if not crc_is_valid(batches, pos, header.size_bytes):
                raise Violation("intact", f"{partition}: the batch at {offset} is damaged")
            if not header.is_control:
                found += [(each.offset, each.value or b"") for each in iter_records(batches, pos=pos)]
            offset = header.next_offset
    return found
