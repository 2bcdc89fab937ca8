"""One machine of a simulated cluster: a disk, and a broker on it that is started again whenever it ends."""

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from random import Random
from typing import NamedTuple

from penstock.cluster.metadata.image import MetadataImage
from penstock.cluster.replica import Replica
from penstock.protocol.records.batch import crc_is_valid, iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.runtime.observers import Observers
from penstock.server.broker import Broker, StartFailed
from penstock.server.context import Services
from penstock.storage.directory.checkpoints import HIGH_WATERMARKS, PartitionName, read_offsets
from penstock.storage.directory.metadata_files import CLEAN_SHUTDOWN
from penstock_simulation.broker import SimulatedClock, simulated_broker
from penstock_simulation.disk import FaultyDisk, Keep
from penstock_simulation.loop import SimulatedLoop
from penstock_simulation.seeds import randomness

PORT = 9092
_RESTART_S = 0.5
_UNREACHABLE_CHANCE = 0.5


class Ending(Enum):
    """How a broker ends: its machine loses power, its process is killed, or it is asked to stop."""

    POWER_CUT = auto()
    KILLED = auto()
    STOPPED = auto()


class StoredBatch(NamedTuple):
    """The location of a batch on a disk."""

    partition: PartitionName
    path: str
    position: int
    size_bytes: int
    next_offset: int


class Machine:
    def __init__(self, loop: SimulatedLoop, seed: int, node_id: int, settings: tuple[str, ...]) -> None:
        self.node_id = node_id
        self.name = f"node-{node_id}"
        self.disk = FaultyDisk(randomness(seed, f"disk {node_id}"), clock=SimulatedClock(loop))
        self.broker: Broker | None = None
        """The broker that has been started and not ended since, whether it serves yet or not."""
        self.is_serving = False
        self.has_failing_disk = False
        self.is_disk_full = False
        """Unlike a fault, a full disk outlasts a restart."""
        self.on_end: Observers[()] = Observers()
        """Notified when the process has ended."""
        self._loop = loop
        self._seed = seed
        listener = f"listeners=PLAINTEXT://{self.name}:{PORT}"
        self._settings = (listener, f"broker.rack=rack-{node_id}", *settings)
        self._start_count = 0
        self._is_member = False
        self._random = randomness(seed, f"machine {node_id}")

    def start(self, join: tuple[tuple[str, int], ...] = ()) -> "asyncio.Task[None]":
        """Switch on. `join` names nodes of the cluster, while this node is not a member."""
        self._loop.network.set_reachable(self.name)
        return self._loop.run_on(self.name, self._run(join))

    def start_later(self, delay_s: float) -> None:
        """Switch on after a delay, unless another caller does so before."""

        def start() -> None:
            if self.broker is None:
                self.start()

        self._loop.call_later(delay_s, start)

    async def _run(self, join: tuple[tuple[str, int], ...]) -> None:
        while True:
            self._start_count += 1
            self.broker = simulated_broker(
                self._loop,
                self.disk,
                seed=self._seed * 1000 + self._start_count,
                node_id=self.node_id,
                settings=self._settings,
                join=() if self._is_member else join,
            )
            try:
                await self.broker.start()
            except StartFailed:
                await asyncio.sleep(_RESTART_S)  # as a supervisor would
                continue
            self._is_member = self.is_serving = True
            return

    async def end(self, ending: Ending, keep: Keep | None = None) -> None:
        """End the broker; `start` starts again from the disk, after a power cut from the part that survived."""
        broker, self.broker = self.broker, None
        if ending is Ending.STOPPED and self.is_serving and broker is not None:
            self.is_serving = False
            with contextlib.suppress(
                OSError
            ):  # the disk may be full: the broker ends without its last writes
                await self._loop.run_on(self.name, broker.stop())
        self.is_serving = self.has_failing_disk = False
        if ending is Ending.POWER_CUT:
            self.disk = self.disk.crash(keep or self._random.choice(list(Keep)))
            if self._random.random() < _UNREACHABLE_CHANCE:  # else it is back, without a process, at once
                self._loop.network.set_unreachable(self.name)
        else:
            self.disk = self.disk.kill()
        self._loop.power_off(self.name)
        self.on_end.notify()

    async def checkpoint(self) -> None:
        """Run the checkpoint that a broker runs once a minute: recovery would start at the end of every log."""
        if self.broker is not None and self.is_serving:
            await self._loop.run_on(self.name, self.broker.parts.store.checkpoint())

    @property
    def services(self) -> Services | None:
        """The services of its broker while it serves. A broker that is starting may not have any yet."""
        return self.broker.services if self.broker is not None and self.is_serving else None

    @property
    def image(self) -> MetadataImage | None:
        """The metadata of its broker while it serves."""
        return None if self.services is None else self.services.controller.image

    def replica(self, partition: tuple[str, int]) -> Replica | None:
        return None if self.services is None else self.services.replicas.get(*partition)

    @property
    def needs_restart(self) -> bool:
        """Whether its broker may have had a disk error."""
        return self.has_failing_disk or self.is_disk_full or not self.disk.has_power

    @property
    def has_crashed(self) -> bool:
        """Whether it is down, or starting, after an unclean shutdown."""
        return not self.is_serving and self.disk.has_power and not self.disk.exists(f"/data/{CLEAN_SHUTDOWN}")

    def intact_end_offset(self, topic: str, number: int) -> int:
        """Return the offset up to which the log of a partition is intact on the disk."""
        batches = self._stored(PartitionName(topic, number), is_checked=True)
        return max((each.next_offset for each in batches), default=0)

    def corrupt(self, topic: str, random: Random, others: Sequence["Machine"]) -> str | None:
        """Flip a bit in a stored batch of a topic; return the partition's directory, None if nothing was changed.

        Offsets and epochs are left alone: no checksum covers them, and readers trust them until the next scrub. So is
        what the checkpoint of high watermarks does not cover: after a crash it could not be distinguished from a torn
        write. And so is the only copy of a batch, which could not be repaired: with `min.insync.replicas=1` a leader
        commits without its followers.
        """
        if not self.disk.has_power:
            return None
        batches = [
            batch
            for name, committed in self._high_watermarks().items()
            if name.topic == topic
            for batch in self._stored(name)
            if batch.next_offset < committed
        ]
        if not batches:
            return None
        chosen = random.choice(batches)
        index = random.choice([*range(8, 12), *range(16, chosen.size_bytes)])
        bit = random.randrange(8)
        content = dict(self._segments(chosen.partition))[chosen.path]
        data = content[chosen.position : chosen.position + chosen.size_bytes]
        if not any(each.has_committed(chosen, data) for each in others):
            return None
        self.disk.flip_bit(chosen.path, chosen.position + index, bit)
        return chosen.partition.directory

    def has_committed(self, batch: StoredBatch, data: bytes) -> bool:
        """Return whether its disk has a batch, below a checkpointed high watermark: no crash can take it."""
        is_committed = batch.next_offset <= self._high_watermarks().get(batch.partition, 0)
        return is_committed and any(data in content for _, content in self._segments(batch.partition))

    def _high_watermarks(self) -> dict[PartitionName, int]:
        return read_offsets(self.disk, f"/data/{HIGH_WATERMARKS}") or {}

    def _stored(self, name: PartitionName, *, is_checked: bool = False) -> list[StoredBatch]:
        """Return the batches of a log, of each segment up to the first corrupt header.

        With `is_checked` they end at the first corrupt batch, and at the first gap between segments.
        """
        found: list[StoredBatch] = []
        end_offset: int | None = None
        for path, content in self._segments(name):
            base_offset = int(os.path.basename(path).removesuffix(".log"))
            if is_checked and end_offset is not None and end_offset < base_offset:
                return found
            end_offset = base_offset
            with contextlib.suppress(CorruptRecords):  # zeros follow the last batch
                for position, header in iter_batches(content):
                    if is_checked and not crc_is_valid(content, position, header.size_bytes):
                        return found
                    found.append(StoredBatch(name, path, position, header.size_bytes, header.next_offset))
                    end_offset = header.next_offset
        return found

    def _segments(self, name: PartitionName) -> Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each segment of a log."""
        for path in self.disk.paths():
            if path.startswith(f"/data/{name.directory}/") and path.endswith(".log"):
                with contextlib.closing(self.disk.open(path, writable=False)) as file:
                    content = bytes(file.read(self.disk.size(path), 0))
                yield path, content
