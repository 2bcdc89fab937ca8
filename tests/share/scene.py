"""The share partitions of a broker with a log, a persister and a clock that the test controls."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from penstock.cluster.replica import Replica
from penstock.cluster.replicas import Replicas
from penstock.config.offset_reset import OffsetReset, ResetKind
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.share.led_partition import LedPartition
from penstock.share.partition.values import Acknowledgement, AcknowledgeType, OffsetRange, PartitionSettings
from penstock.share.partitions import Outcome, SharePartitions
from penstock.share.settings import GroupSettings
from penstock.share.state.values import SharePartitionKey, ShareState, ShareSummary, StateBatch, StateUpdate

TOPIC_ID = b"t" * 16
KEY = SharePartitionKey("group", TOPIC_ID, 0)
END_OFFSET = 10
LOCK_MS = 30_000


class FakeLog:
    log_start_offset = 3
    found: Any = SimpleNamespace(offset=7)

    async def offset_for_timestamp(self, _timestamp: int) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class FakeReplica(Replica):
    """Leads, with a log that is not there."""

    __slots__ = ("is_new",)

    def __init__(self) -> None:
        self.topic_id = TOPIC_ID
        self.is_leader = True
        self.leader_epoch = 5
        self.high_watermark = END_OFFSET
        self.is_new = False
        self._log = cast("Any", FakeLog())

    @property
    def knows_end(self) -> bool:
        return not self.is_new


class FakePersister:
    """Keeps the state of one share partition; writes wait for `gate`, and `refusal` is what it says to everything."""

    def __init__(self) -> None:
        self.state = ShareState(1, 0)
        self.refusal: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.done: list[str] = []
        self.written: list[tuple[StateBatch, ...]] = []

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        raise NotImplementedError

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        assert key == KEY
        self._refuse()
        self.done.append(f"read in epoch {leader_epoch}")
        return self.state

    async def write(self, key: SharePartitionKey, update: StateUpdate) -> None:
        assert (key, update.state_epoch) == (KEY, 1)
        if self.gate is not None:
            await self.gate.wait()
        self._refuse()
        self.done.append(f"written in epoch {update.leader_epoch}")
        self.written.append(tuple(update.batches))
        self.state = ShareState(1, update.start_offset, tuple(update.batches))

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        assert key == KEY
        self._refuse()
        self.done.append("summary")
        return ShareSummary(self.state.state_epoch, 0, self.state.start_offset)

    async def delete(self, key: SharePartitionKey) -> None:
        raise NotImplementedError

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.persister = FakePersister()
        self.replica: Replica | ErrorCode = FakeReplica()
        self.reset = OffsetReset(ResetKind.LATEST)
        self.partitions = SharePartitions(cast("Replicas", self), self.persister, self.clock)

    def leader_by_id(self, topic_id: bytes, partition: int) -> Replica | ErrorCode:
        return self.replica

    @property
    def settings(self) -> GroupSettings:
        return GroupSettings(
            partition=PartitionSettings(
                lock_duration_ms=LOCK_MS, delivery_count_limit=5, record_locks_max=2000
            ),
            reads_committed=False,
            offset_reset=self.reset,
        )

    @property
    def leader(self) -> FakeReplica:
        assert isinstance(self.replica, FakeReplica)
        return self.replica

    async def led(self) -> LedPartition:
        """The share partition when it is loaded, or has failed."""
        led = self.partitions.led(KEY, self.settings)
        assert isinstance(led, LedPartition)
        await turns()
        return led

    def acquire(self, led: LedPartition, member_id: str = "anne") -> None:
        """Offsets 0 to 9."""
        assert led.state is not None
        state = led.state
        acquired = state.acquire(
            member_id,
            fetch_offset=state.next_fetch_offset,
            batches=[OffsetRange(0, 9)],
            records_max=100,
            batch_size=100,
            now_ms=int(self.clock.monotonic_ms()),
        )
        assert acquired
        self.partitions.acquired(led)

    def say(self, first: int, last: int, kind: AcknowledgeType) -> Outcome | Awaitable[Outcome]:
        return self.partitions.acknowledge(KEY, self.settings, "anne", [Acknowledgement(first, last, [kind])])

    async def accept(self, first: int, last: int) -> Outcome:
        outcome = self.say(first, last, AcknowledgeType.ACCEPT)
        return outcome if isinstance(outcome, Outcome) else await outcome


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def play(story: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def scene() -> None:
        scene = Scene()
        await story(scene)
        await scene.partitions.stop()

    asyncio.run(scene())
