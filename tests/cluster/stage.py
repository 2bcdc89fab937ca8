"""A replica on a real log, for tests of fetching, scrubbing, repair and loading; and one with a damaged log."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.replica_deps import ReplicaDeps
from penstock.config.topic import TopicConfig
from penstock.runtime.clock import ManualClock
from penstock.runtime.observers import Observers
from penstock.runtime.offload import InlineOffload, Offload
from penstock.storage.files import RealFileSystem
from penstock.storage.flusher import Flusher
from penstock.storage.log.log import Log
from penstock.storage.store.log_store import LogStore
from tests.storage.logs import batch_of

TOPIC_ID = b"t" * 16
NODE = 2
SIZE = len(batch_of("0"))
COUNT = 6


class ReplicaStage:
    """A replica of a follower on a real log, with a clock that the test moves."""

    def __init__(self, directory: Path, *, disk: Offload | None = None, syncs: Offload | None = None) -> None:
        self.clock = ManualClock()
        self.store = LogStore.open(
            str(directory),
            files=RealFileSystem(),
            node_id=NODE,
            new_cluster_id=lambda: "cluster",
            new_directory_id=lambda: b"d" * 16,
            clock=self.clock,
            offload=disk,
        )
        self.suspicions: Observers[Replica] = Observers()
        flusher = Flusher(syncs or InlineOffload(), self.clock)
        self.deps = ReplicaDeps(NODE, self.clock, flusher, on_suspicion=self.suspicions.notify)

    def replica_of(self, number: int) -> Replica:
        def open_log() -> Log:
            return self.store.open_or_create("t", TOPIC_ID, number, TopicConfig())

        return Replica("t", TOPIC_ID, number, open_log, self.deps)

    async def pass_time(self, duration_ms: int) -> None:
        for _ in range(30):
            await asyncio.sleep(0)
        self.clock.advance(duration_ms)
        for _ in range(30):
            await asyncio.sleep(0)
            self.clock.advance(0)


S = TypeVar("S", bound=ReplicaStage)


def play(
    make_stage: Callable[[], S],
    scenario: Callable[[S], Awaitable[None]],
    task_of: Callable[[S], Coroutine[Any, Any, None]],
    at_end: Callable[[S], None] = lambda _stage: None,
) -> None:
    """Run a scenario beside the task under test."""

    async def played() -> None:
        stage = make_stage()
        running = asyncio.ensure_future(task_of(stage))
        try:
            async with asyncio.timeout(20):
                await scenario(stage)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            at_end(stage)
            await stage.store.close()

    asyncio.run(played())


class DamageStage(ReplicaStage):
    """A follower that holds `COUNT` records, a batch each, all of them committed."""

    def __init__(self, directory: Path, *, replicas: Sequence[int] = (1, NODE, 3)) -> None:
        super().__init__(directory)
        self.replica = self.replica_of(0)
        state = Partition(
            replicas=tuple(replicas),
            isr=tuple(replicas),
            leader=replicas[0],
            leader_epoch=0,
            partition_epoch=0,
        )
        self.replica.follow(state)
        for number in range(COUNT):
            self.replica.log.append_replicated(bytes(batch_of(str(number), base_offset=number)), now_ms=0)
        self.deps.flusher.request(self.replica.log)
        self.replica.high_watermark = COUNT
        self.path = Path(self.replica.log.segments[0].log_path)
        self.intact = self.content()

    def content(self) -> bytes:
        return self.path.read_bytes()[: self.replica.log.size_bytes]

    def damage(self, offset: int) -> None:
        with self.path.open("r+b") as file:
            file.seek((offset + 1) * SIZE - 2)
            file.write(b"\xff")
