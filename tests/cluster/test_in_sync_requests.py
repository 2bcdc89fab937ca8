import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from penstock.cluster.controller.alter_partition import InSyncChange, InSyncChanged
from penstock.cluster.in_sync import WantedSet
from penstock.cluster.in_sync_requests import InSyncRequests
from penstock.cluster.metadata.state import Partition
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock


class Leader:
    """The parts of a replica and its followers that the requests use."""

    topic = "t"
    topic_id = b"t" * 16
    partition = 0
    is_leader = True
    is_open = True
    high_watermark = 0
    log = SimpleNamespace(log_end_offset=0)

    def __init__(self) -> None:
        self.state = Partition(replicas=(1, 2), isr=(1,), leader=1, leader_epoch=3, partition_epoch=5)
        self.wanted_set: WantedSet | None = WantedSet(
            members=((1, -1), (2, 9)), leader_epoch=3, partition_epoch=5
        )
        self.events: list[str] = []

    @property
    def followers(self) -> "Leader":
        return self

    def wanted(self, _leader_end: int, _high_watermark: int, _now_ms: float) -> WantedSet | None:
        return self.wanted_set

    def asked(self, _wanted: WantedSet) -> None:
        self.events.append("asked")
        self.wanted_set = None

    def refused_in_sync(self, wanted: WantedSet) -> None:
        self.events.append("refused")


Answers = list[ErrorCode | Exception]


async def put(answers: Answers) -> tuple[Leader, list[InSyncChange]]:
    """Run the leader's requests until the answers are used up."""
    leader, clock, seen = Leader(), ManualClock(), list[InSyncChange]()
    done = asyncio.Event()

    async def ask(changes: Sequence[InSyncChange]) -> Sequence[InSyncChanged]:
        seen.extend(changes)
        answer = answers.pop(0)
        if not answers:
            done.set()
        if isinstance(answer, Exception):
            raise answer
        return [
            InSyncChanged(topic_id=each.topic_id, partition=each.partition, error=answer) for each in changes
        ]

    replica = cast("Replica", leader)
    requests = InSyncRequests(lambda: [replica], ask, clock, lag_ms_max=lambda: 100)
    running = asyncio.create_task(requests.run())
    requests.note(replica)
    while not done.is_set():
        await asyncio.sleep(0)
        clock.advance(50)
    for _ in range(5):
        await asyncio.sleep(0)
    running.cancel()
    return leader, seen


def test_a_wanted_in_sync_set_is_requested_with_its_epochs() -> None:
    leader, seen = asyncio.run(put([ErrorCode.NONE]))
    assert seen == [
        InSyncChange(
            topic_id=leader.topic_id, partition=0, leader_epoch=3, partition_epoch=5, isr=((1, -1), (2, 9))
        )
    ]
    assert leader.events == ["asked"]


def test_a_request_without_an_answer_is_retried_unchanged() -> None:
    answers: Answers = [ConnectionResetError(), ErrorCode.NOT_CONTROLLER, ErrorCode.NONE]
    leader, seen = asyncio.run(put(answers))
    assert len(seen) == 3
    assert seen[0] == seen[1] == seen[2]
    assert leader.events == ["asked"]


def test_a_refused_request_is_withdrawn() -> None:
    leader, _ = asyncio.run(put([ErrorCode.INELIGIBLE_REPLICA]))
    assert leader.events == ["asked", "refused"]


def test_a_leader_with_outdated_metadata_waits_for_newer() -> None:
    leader, _ = asyncio.run(put([ErrorCode.INVALID_UPDATE_VERSION]))
    assert leader.events == ["asked"]


def test_lag_is_checked_periodically() -> None:
    async def scenario() -> None:
        leader, clock = Leader(), ManualClock()
        replica = cast("Replica", leader)
        asked = asyncio.Event()

        async def ask(changes: Sequence[InSyncChange]) -> Sequence[InSyncChanged]:
            asked.set()
            return [InSyncChanged(topic_id=each.topic_id, partition=each.partition) for each in changes]

        requests = InSyncRequests(lambda: [replica], ask, clock, lag_ms_max=lambda: 100)
        tasks = [asyncio.create_task(requests.run()), asyncio.create_task(requests.watch_lag())]
        while not asked.is_set():
            await asyncio.sleep(0)
            clock.advance(10)
        for task in tasks:
            task.cancel()

    asyncio.run(scenario())
