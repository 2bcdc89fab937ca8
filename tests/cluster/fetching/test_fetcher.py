"""A follower on a real log, and a leader that the test plays."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock.cluster.fetching.fetcher import Fetcher
from penstock.cluster.fetching.followed_partition import FollowedPartition
from penstock.cluster.fetching.session import FetchLimits, FetchSession
from penstock.cluster.metadata.state import Partition
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS
from penstock.cluster.replica import Replica
from penstock.cluster.throttle import MeanRate, ReplicationThrottle
from penstock.config.topic import LONG_MAX, TopicConfig
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from penstock.protocol.records.batch import set_base_offset_and_epoch
from penstock.runtime.offload import InlineOffload, Then
from penstock.storage.files import Usage
from tests.cluster.stage import TOPIC_ID, ReplicaStage, play
from tests.storage.logs import batch_of, read, values_in

T = TypeVar("T")

BACKOFF_MS = 1000


class Settings:
    limits = FetchLimits(wait_ms_max=500, bytes_min=1, bytes_max=1 << 20)
    partition_bytes_max = 1 << 20
    backoff_ms = BACKOFF_MS


class PlayedLeader:
    """Gives its answers in turn; when there are none left its long polls last."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[FetchResponse | Exception] = asyncio.Queue()
        self.requests: list[FetchRequest] = []
        self.start_offset = 0
        self.on_start_asked: Callable[[], None] = lambda: None
        self.may_tell_start = asyncio.Event()
        self.may_tell_start.set()
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
        await self.may_tell_start.wait()
        return self.start_offset

    async def close(self) -> None:
        self.closed += 1

    def answer(self, partition: int = 0, *, session_id: int = 9, **fields: Any) -> None:
        data = PartitionData(partition_index=partition, **{"log_start_offset": 0, **fields})
        topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
        self.answers.put_nowait(FetchResponse(session_id=session_id, responses=[topic]))


class HeldDisk(InlineOffload):
    """Does its work at once, or when the test lets it."""

    def __init__(self) -> None:
        self.is_free = asyncio.Event()
        self.is_free.set()
        self.waiting_count = 0

    def call(self, work: Callable[[], object], then: Then) -> None:
        if self.is_free.is_set():
            super().call(work, then)
        else:
            asyncio.ensure_future(self.run(work)).add_done_callback(lambda done: then(done.result(), None))

    async def run(self, work: Callable[[], T]) -> T:
        self.waiting_count += 1
        await self.is_free.wait()
        self.waiting_count -= 1
        return work()


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
            self.store,
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
        """What the follower has before it begins, synced."""
        for each in batches:
            self.following(self.replica).append(each, self.clock.now_ms())

    def following(self, replica: Replica) -> FollowedPartition:
        return FollowedPartition(replica, self.store)

    async def asked(self, count: int) -> FetchRequest:
        """The request that comes as number `count`."""
        for _ in range(2000):
            if len(self.leader.requests) >= count:
                return self.leader.requests[count - 1]
            await asyncio.sleep(0)
        raise AssertionError(f"{len(self.leader.requests)} requests, not {count}")

    async def taken(self) -> None:
        """Until the follower has taken the leader's answers."""
        while not self.leader.answers.empty():
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)


def run(directory: Path, scenario: Callable[[Stage], Awaitable[None]]) -> None:
    def free_disks(stage: Stage) -> None:
        stage.disk.is_free.set()
        stage.syncs.is_free.set()

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


def test_the_next_fetch_comes_only_when_the_records_of_the_last_are_on_disk(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 0, -1)]
        stage.leader.answer(records=records(0, "a", "b"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 2, 3)]
        assert stage.replica.log.committed_offset == 2, "the fetch offset is a promise"
        assert stage.replica.high_watermark == 1
        stage.leader.answer(records=b"", high_watermark=9)
        request = await stage.asked(3)
        assert stage.replica.high_watermark == 2, "no further than the records that are here"
        assert (request.session_id, request.session_epoch, wanted(request)) == (9, 2, [])

    run(tmp_path, scenario)


def test_a_log_with_another_history_is_cut_where_its_epoch_ends(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "b", "c", epoch=2))
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 3, 2)]
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=1, end_offset=5))
        assert wanted(await stage.asked(2)) == [(0, 1, 1)]
        stage.leader.answer(records=records(1, "d"), high_watermark=2)
        assert wanted(await stage.asked(3)) == [(0, 2, 3)]

    run(tmp_path, scenario)


def test_a_truncation_is_logged_when_it_cuts_something(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "b", "c", epoch=2))
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=2, end_offset=5))
        assert wanted(await stage.asked(2)) == []  # as before
        assert "Truncated" not in caplog.text
        stage.leader.answer(diverging_epoch=EpochEndOffset(epoch=2, end_offset=1))
        assert wanted(await stage.asked(3)) == [(0, 1, 1)]
        assert "Truncated t-0 from offset 3 to 1" in caplog.text

    with caplog.at_level(logging.INFO):
        run(tmp_path, scenario)


def test_a_new_follower_that_begins_where_its_leader_does_truncates_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.leader.start_offset = 40
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 40, -1)]

    with caplog.at_level(logging.INFO):
        run(tmp_path, scenario)
    assert "Truncated" not in caplog.text


def test_a_follower_below_its_leaders_start_begins_anew_there(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a"))
        stage.leader.start_offset = 40
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 40, -1)]
        assert stage.replica.log.log_start_offset == 40

    run(tmp_path, scenario)


def test_records_that_no_leader_can_compare_any_more_are_forgotten_with_what_they_said_of_producers(
    tmp_path: Path,
) -> None:
    """Another record may have stood there, such as the end of a transaction that is open here."""

    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", epoch=1), records(1, "never committed", epoch=2))
        stage.replica.log.producers.mark_unverified(
            0
        )  # stands for anything that the records said of producers
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 2, 2)]
        stage.leader.answer(records=records(2, "c"), high_watermark=3, log_start_offset=2)
        assert wanted(await stage.asked(2)) == [(0, 3, 3)]
        log = stage.replica.log
        assert (log.log_start_offset, log.log_end_offset) == (2, 3)
        assert log.first_unstable_offset is None

    run(tmp_path, scenario)


@pytest.mark.parametrize(
    ("epoch", "high_watermark"), [(3, 1), (2, 2)], ids=["of the same leader", "known to be committed"]
)
def test_records_that_are_deleted_at_the_leader_and_cannot_differ_there_are_not_forgotten(
    tmp_path: Path, epoch: int, high_watermark: int
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a", "b", epoch=epoch))
        await stage.taken()
        stage.following(stage.replica).follow_offsets(high_watermark, 0)
        assert stage.replica.high_watermark == high_watermark
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        generation = stage.replica.log.generation
        stage.leader.answer(records=b"", high_watermark=2, log_start_offset=2)
        await stage.asked(2)
        assert stage.replica.log.generation == generation, "nothing was truncated"

    run(tmp_path, scenario)


def test_a_follower_catches_up_with_a_leader_whose_log_starts_inside_a_batch(tmp_path: Path) -> None:
    """DeleteRecords moves the start to any record; the leader still sends the whole batch that holds it."""

    async def scenario(stage: Stage) -> None:
        stage.holds(records(0, "a"))
        stage.leader.start_offset = 12
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 12, -1)]
        fetched = records(10, "k", "l", "m", epoch=2) + records(13, "n")
        stage.leader.answer(records=fetched, high_watermark=14, log_start_offset=12)
        assert wanted(await stage.asked(3)) == [(0, 14, 3)]
        assert (stage.replica.log.log_start_offset, stage.replica.high_watermark) == (12, 14)
        assert values_in(read(stage.replica.log, 12)) == ["k", "l", "m", "n"]

    run(tmp_path, scenario)


def test_a_log_is_not_moved_to_a_batch_in_an_epoch_in_which_it_leads(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.replica.log.truncate_fully_and_start_at(12)
        await stage.store.checkpoint()
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.disk.is_free.clear()
        stage.leader.answer(records=records(10, "k", "l", "m"), high_watermark=13, log_start_offset=12)
        while stage.replica.log.recovery_point != 10:  # which is being written down
            await asyncio.sleep(0)
        stage.take_over(stage.replica, epoch=4)
        stage.disk.is_free.set()
        await stage.taken()
        assert (stage.replica.log.log_start_offset, stage.replica.log.log_end_offset) == (12, 12)

    run(tmp_path, scenario)


def test_an_empty_log_that_is_ahead_of_its_leader_goes_back_to_its_start(tmp_path: Path) -> None:
    """After an unclean election: nothing here could tell the leader in which epoch they part."""

    async def scenario(stage: Stage) -> None:
        stage.replica.log.truncate_fully_and_start_at(100)
        stage.leader.start_offset = 10
        stage.fetcher.follow(stage.replica)
        assert wanted(await stage.asked(1)) == [(0, 100, -1)]
        stage.leader.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert wanted(await stage.asked(2)) == [(0, 10, -1)]

    run(tmp_path, scenario)


def test_the_leaders_start_is_taken_over(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a", "b", "c"), high_watermark=3, log_start_offset=2)
        await stage.asked(2)
        assert stage.replica.log.log_start_offset == 2

    run(tmp_path, scenario)


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR])
def test_a_partition_in_trouble_rests_while_the_others_go_on(tmp_path: Path, error: ErrorCode) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(stage.make(1))
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(0, error_code=error)
        resting = await stage.asked(2)
        assert [topic.partitions for topic in resting.forgotten_topics_data] == [[0]]
        stage.clock.advance(BACKOFF_MS)
        stage.leader.answer(1, records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 0, -1), (1, 1, 3)]

    run(tmp_path, scenario)


def test_damaged_records_are_not_stored_and_are_fetched_again(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        damaged = bytearray(records(0, "a"))
        damaged[-1] ^= 1
        stage.leader.answer(records=bytes(damaged), high_watermark=1)
        for _ in range(50):
            await asyncio.sleep(0)
        assert (stage.replica.log.log_end_offset, len(stage.leader.requests)) == (0, 1)
        stage.clock.advance(BACKOFF_MS)
        assert wanted(await stage.asked(2)) == [], "the session knows where it stands"
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_a_newcomer_cuts_a_long_poll_short(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.fetcher.follow(stage.make(1))
        assert wanted(await stage.asked(2)) == [(0, 0, -1), (1, 0, -1)]
        assert (stage.leader.connections, stage.leader.closed) == (2, 1)

    run(tmp_path, scenario)


def test_a_partition_in_the_epoch_that_is_followed_already_does_not(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.fetcher.follow(stage.replica)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        await stage.asked(2)
        assert stage.leader.connections == 1

    run(tmp_path, scenario)


def test_an_answer_of_an_epoch_that_is_over_is_dropped(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.lead(stage.replica, 4)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        await stage.taken()
        assert stage.replica.log.log_end_offset == 0
        stage.fetcher.follow(stage.replica)
        (topic,) = (await stage.asked(2)).topics
        assert topic.partitions[0].current_leader_epoch == 4

    run(tmp_path, scenario)


def test_a_leader_that_cannot_be_reached_is_tried_again_after_a_pause(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answers.put_nowait(ConnectionResetError())
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(stage.leader.requests) == 1
        stage.clock.advance(BACKOFF_MS)
        request = await stage.asked(2)
        assert (request.session_id, wanted(request)) == (0, [(0, 0, -1)])

    run(tmp_path, scenario)


def test_a_session_that_the_leader_forgot_is_begun_anew_at_once(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=b"")
        await stage.asked(2)
        stage.leader.answers.put_nowait(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
        request = await stage.asked(3)
        assert (request.session_id, request.session_epoch, wanted(request)) == (0, 0, [(0, 0, -1)])

    run(tmp_path, scenario)


def test_a_leader_that_refuses_a_whole_fetch_is_not_asked_without_a_pause(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answers.put_nowait(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(stage.leader.requests) == 1
        stage.clock.advance(BACKOFF_MS)
        await stage.asked(2)

    run(tmp_path, scenario)


def test_a_partition_that_is_left_is_not_asked_for_any_more(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(stage.make(1))
        await stage.asked(1)
        stage.fetcher.leave(TOPIC_ID, 0)
        assert len(stage.fetcher) == 1
        stage.leader.answer(0, records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]]
        assert stage.replica.log.log_end_offset == 0

    run(tmp_path, scenario)


def test_a_throttled_partition_is_not_asked_for_while_it_came_too_fast_and_others_are(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.bytes_per_second_max = 10
        other = stage.make(1)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(other)
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert (wanted(request), request.forgotten_topics_data[0].partitions) == ([], [0])
        stage.clock.advance(60_000)
        stage.leader.answer(1, records=records(0, "b"), high_watermark=1)
        assert wanted(await stage.asked(3)) == [(0, 1, 3), (1, 1, 3)]

    run(tmp_path, scenario)


def test_a_partition_that_is_in_sync_is_asked_for_however_fast_it_comes(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.bytes_per_second_max = 10
        stage.replica.follow(
            Partition(replicas=(1, 2), isr=(1, 2), leader=1, leader_epoch=4, partition_epoch=4)
        )
        stage.fetcher.follow(stage.replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_a_partition_that_finds_the_disk_full_is_not_asked_for_until_there_is_space(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        disk = stage.deps.disk
        disk.measured(Usage(1000, 100), 100, 0)
        quiet = stage.make(1)
        stage.fetcher.follow(stage.replica)
        stage.fetcher.follow(quiet)
        assert wanted(await stage.asked(1)) == [(0, 0, -1), (1, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        request = await stage.asked(2)
        assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]], (
            "the other one stays in sync"
        )
        assert stage.replica.log.log_end_offset == 0
        for number in (3, 4):
            stage.clock.advance(BACKOFF_MS)
            stage.leader.answer(1, records=b"", high_watermark=0)
            assert wanted(await stage.asked(number)) == []
        disk.measured(Usage(1000, 1000), 100, 0)
        stage.clock.advance(BACKOFF_MS)
        stage.leader.answer(1, records=b"", high_watermark=0)
        assert wanted(await stage.asked(5)) == [(0, 0, -1)]
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(6)) == [(0, 1, 3)]

    run(tmp_path, scenario)


def test_the_logs_of_coordinators_are_followed_into_the_reserve(tmp_path: Path) -> None:
    async def scenario(stage: Stage) -> None:
        stage.deps.disk.measured(Usage(1000, 10), 100, 0)
        replica = Replica(
            CONSUMER_OFFSETS,
            TOPIC_ID,
            0,
            lambda: stage.store.open_or_create(CONSUMER_OFFSETS, TOPIC_ID, 0, TopicConfig()),
            stage.deps,
        )
        stage.lead(replica, 3)
        stage.fetcher.follow(replica)
        await stage.asked(1)
        stage.leader.answer(records=records(0, "a"), high_watermark=1)
        assert wanted(await stage.asked(2)) == [(0, 1, 3)]

    run(tmp_path, scenario)
