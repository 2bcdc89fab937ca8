"""A follower on a real log, and a leader that the test plays."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from penstock.cluster.fetching.fetcher import Fetcher
from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.fetching.session import FetchLimits, FetchSession
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.cluster.throttle import MeanRate, ReplicationThrottle
from penstock.config.topic import LONG_MAX
from penstock.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.protocol.records.batch import set_base_offset_and_epoch
from tests.cluster.stage import TOPIC_ID, ReplicaStage, play
from tests.storage.held_disk import HeldDisk
from tests.storage.logs import batch_of

BACKOFF_MS = 1000


class Settings:
    limits = FetchLimits(wait_ms_max=500, bytes_min=1, bytes_max=1 << 20)
    partition_bytes_max = 1 << 20
    backoff_ms = BACKOFF_MS


class PlayedLeader:
    """Returns its answers in turn; without further answers its long polls do not end."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[FetchResponse | Exception] = asyncio.Queue()
        self.requests: list[FetchRequest] = []
        self.start_offset = 0
        self.on_start_asked: Callable[[], None] = lambda: None
        self.may_answer_start = asyncio.Event()
        self.may_answer_start.set()
        self.connections = 0
        self.closed = 0

    async def connect(self) -> "PlayedLeader":
        self.connections += 1
        return self

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        self.requests.append(request)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def earliest_offset(self, replica: Replica) -> int:
        self.on_start_asked()
        await self.may_answer_start.wait()
        return self.start_offset

    async def close(self) -> None:
        self.closed += 1

    def answer(self, partition: int = 0, *, session_id: int = 9, **fields: Any) -> None:
        data = PartitionData(partition_index=partition, **{"log_start_offset": 0, **fields})
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        self.answers.put_nowait(FetchResponse(session_id=session_id, responses=[topic]))


class Stage(ReplicaStage):
    def __init__(self, directory: Path) -> None:
        self.disk, self.syncs = HeldDisk(), HeldDisk()
        super().__init__(directory, disk=self.disk, syncs=self.syncs)
        self.leader = PlayedLeader()
        self.bytes_per_second_max = LONG_MAX
        throttle = ReplicationThrottle(
            2,
            MeanRate(10, 1000),
            self.clock,
            bytes_per_second_max=lambda: self.bytes_per_second_max,
            listed=lambda _topic: frozenset({"0:2"}),
        )
        self.fetcher = Fetcher(
            FetchSession(2, 7),
            self.leader.connect,
            lambda replica: FollowedPartition(replica, self.store),
            Settings(),
            throttle=throttle,
            clock=self.clock,
        )
        self.replica = self.make(0)

    def make(self, number: int, epoch: int = 3) -> Replica:
        replica = self.replica_of(number)
        self.lead(replica, epoch)
        return replica

    def lead(self, replica: Replica, epoch: int) -> None:
        """Broker 1 leads in a new epoch."""
        self._elect(1, replica, epoch)

    def take_over(self, replica: Replica, epoch: int) -> None:
        """The follower itself leads in a new epoch, alone in sync."""
        self._elect(2, replica, epoch)

    @staticmethod
    def _elect(leader: int, replica: Replica, epoch: int) -> None:
        replica.follow(
            Partition(
                replicas=(1, 2), isr=(leader,), leader=leader, leader_epoch=epoch, partition_epoch=epoch
            )
        )

    def holds(self, *batches: bytes) -> None:
        """The records that the follower has at the start, synced."""
        for each in batches:
            self.following(self.replica).append(each, self.clock.now_ms())

    def following(self, replica: Replica) -> FollowedPartition:
        return FollowedPartition(replica, self.store)

    async def asked(self, count: int) -> FetchRequest:
        """The request number `count`."""
        for _ in range(2000):
            if len(self.leader.requests) >= count:
                return self.leader.requests[count - 1]
            await asyncio.sleep(0)
        raise AssertionError(f"{len(self.leader.requests)} requests, not {count}")

    async def processed(self) -> None:
        """Wait until the follower has processed the leader's answers."""
        while not self.leader.answers.empty():
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)


def run(directory: Path, scenario: Callable[[Stage], Awaitable[None]]) -> None:
    def free_disks(stage: Stage) -> None:
        stage.disk.free()
        stage.syncs.free()

    play(lambda: Stage(directory), scenario, lambda stage: stage.fetcher.run(), free_disks)


def records(base_offset: int, *values: str, epoch: int = 3) -> bytes:
    batch = batch_of(*values)
    set_base_offset_and_epoch(batch, 0, base_offset, epoch)
    return bytes(batch)


def wanted(request: FetchRequest) -> list[tuple[int, int, int]]:
    """Partition, offset and epoch of the record before it."""
    return [
        (each.partition, each.fetch_offset, each.last_fetched_epoch)
        for topic in request.topics
        for each in topic.partitions
    ]
