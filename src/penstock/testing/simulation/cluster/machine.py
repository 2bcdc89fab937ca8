"""One machine of a simulated cluster: a disk, and a broker on it that is started again whenever it ends."""

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from random import Random
from typing import NamedTuple

from penstock.observability.observers import Observers
from penstock.protocol.records.batch import crc_is_valid, iter_batches
from penstock.protocol.records.errors import CorruptRecords
from penstock.server.broker import Broker, StartFailed
from penstock.storage.checkpoints import HIGH_WATERMARKS, PartitionName, read_offsets
from penstock.storage.directory_files import CLEAN_SHUTDOWN
from penstock.testing.disk import FaultyDisk, Keep
from penstock.testing.simulation.broker import SimulatedClock, simulated_broker
from penstock.testing.simulation.loop import SimulatedLoop
from penstock.testing.simulation.seeds import randomness

PORT = 9092
_START_AGAIN_S = 0.5
_DARK_CHANCE = 0.5


class Ending(Enum):
    """How a broker ends: its machine loses power, its process is killed, or it is asked to stop."""

    POWER_CUT = auto()
    KILLED = auto()
    STOPPED = auto()


class Place(NamedTuple):
    """A batch on a disk."""

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
        """Unlike a fault, that outlasts a restart."""
        self.ends: Observers[()] = Observers()
        """Notified when its process has ended."""
        self._loop = loop
        self._seed = seed
        self._settings = (
            f"listeners=PLAINTEXT://{self.name}:{PORT}",
            f"broker.rack=rack-{node_id}",
            *settings,
        )
        self._start_count = 0
        self._is_member = False
        self._random = randomness(seed, f"machine {node_id}")

    def start(self, join: tuple[tuple[str, int], ...] = ()) -> "asyncio.Task[None]":
        """Switch on. `join` counts until the node has been a member once: it is asked for at a first start only."""
        self._loop.network.lighten(self.name)
        return self._loop.run_on(self.name, self._run(join))

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
                await asyncio.sleep(_START_AGAIN_S)  # as whoever supervises it would
                continue
            self._is_member = self.is_serving = True
            return

    async def end(self, ending: Ending, keep: Keep | None = None) -> None:
        """End the broker; `start` begins anew from what is on the disk, after a power cut from what it has kept."""
        broker, self.broker = self.broker, None
        if ending is Ending.STOPPED and self.is_serving and broker is not None:
            self.is_serving = False
            with contextlib.suppress(OSError):  # its disk may be full: then it ends without having said all
                await self._loop.run_on(self.name, broker.stop())
        self.is_serving = self.has_failing_disk = False
        if ending is Ending.POWER_CUT:
            self.disk = self.disk.crash(keep or self._random.choice(list(Keep)))
            if (
                self._random.random() < _DARK_CHANCE
            ):  # else it is back, with nothing running, before anybody looks
                self._loop.network.darken(self.name)
        else:
            self.disk = self.disk.kill()
        self._loop.power_off(self.name)
        self.ends.notify()

    async def checkpoint(self) -> None:
        """Have its broker do now what it does once a minute: recovery would start at the end of every log."""
        if self.broker is not None and self.is_serving:
            await self._loop.run_on(self.name, self.broker.parts.store.checkpoint())

    @property
    def is_sick(self) -> bool:
        """Whether its broker may have met a disk that fails, and is to be started anew."""
        return self.has_failing_disk or self.is_disk_full or not self.disk.has_power

    @property
    def has_crashed(self) -> bool:
        """Whether it is down, or on its way up, after an end that its disk does not call clean."""
        return not self.is_serving and self.disk.has_power and not self.disk.exists(f"/data/{CLEAN_SHUTDOWN}")

    def end_of(self, topic: str, number: int) -> int:
        """Up to which offset the log of a partition is intact on the disk."""
        places = self._stored(PartitionName(topic, number), is_checked=True)
        return max((each.next_offset for each in places), default=0)

    def rot(self, topic: str, random: Random, others: Sequence["Machine"]) -> str | None:
        """Flip a bit in what has been stored of a topic; gives the partition's directory, None if nothing was changed.

        Not in offsets and epochs, which readers believe until the next pass over all logs: no checksum covers them. And
        only in what was written down as committed, with more of that behind it: after a crash nobody could tell
        anything else from a torn write. The only copy of a batch is left alone, because nobody could repair it:
        with `min.insync.replicas=1` a leader commits without its followers.
        """
        if not self.disk.has_power:
            return None
        batches = [
            place
            for name, committed in self._high_watermarks().items()
            if name.topic == topic
            for place in self._stored(name)
            if place.next_offset < committed
        ]
        if not batches:
            return None
        chosen = random.choice(batches)
        place = random.choice([*range(8, 12), *range(16, chosen.size_bytes)])
        bit = random.randrange(8)
        content = dict(self._segments(chosen.partition))[chosen.path]
        batch = content[chosen.position : chosen.position + chosen.size_bytes]
        if not any(each.keeps(chosen, batch) for each in others):
            return None
        self.disk.flip_bit(chosen.path, chosen.position + place, bit)
        return chosen.partition.directory

    def keeps(self, place: Place, batch: bytes) -> bool:
        """Whether its disk has the batch of another's, and no crash can take it: it was written down as committed."""
        is_committed = place.next_offset <= self._high_watermarks().get(place.partition, 0)
        return is_committed and any(batch in content for _, content in self._segments(place.partition))

    def _high_watermarks(self) -> dict[PartitionName, int]:
        return read_offsets(self.disk, f"/data/{HIGH_WATERMARKS}") or {}

    def _stored(self, name: PartitionName, *, is_checked: bool = False) -> list[Place]:
        """The batches of a log, of each segment up to where a header has rotted before.

        Checked, they end at the first whose content is damaged, and where a segment does not follow the one before.
        """
        found: list[Place] = []
        end_offset: int | None = None
        for path, content in self._segments(name):
            base_offset = int(os.path.basename(path).removesuffix(".log"))
            if is_checked and end_offset is not None and end_offset < base_offset:
                return found
            end_offset = base_offset
            with contextlib.suppress(CorruptRecords):  # zeros fill the room behind the last batch
                for position, header in iter_batches(content):
                    if is_checked and not crc_is_valid(content, position, header.size_bytes):
                        return found
                    found.append(Place(name, path, position, header.size_bytes, header.next_offset))
                    end_offset = header.next_offset
        return found

    def _segments(self, name: PartitionName) -> Iterator[tuple[str, bytes]]:
        """The path and the content of each segment of a log."""
        for path in sorted(self.disk.paths()):
            if not path.startswith(f"/data/{name.directory}/") or not path.endswith(".log"):
                continue
            file = self.disk.open(path, writable=False)
            try:
                content = file.read(self.disk.size(path), 0)
            finally:
                file.close()
            yield path, bytes(content)
