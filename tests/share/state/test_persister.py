"""The persister over coordinators that the test plays, on a clock that the test moves."""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from itertools import pairwise
from typing import Any, cast

import pytest

from penstock.cluster.peers import Peers
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import read_share_group_state, write_share_group_state
from penstock.runtime.clock import ManualClock
from penstock.share.state import persister
from penstock.share.state.coordinator import ShareStateCoordinator
from penstock.share.state.persister import ClusterPersister
from penstock.share.state.values import (
    PersisterError,
    RecordState,
    SharePartitionKey,
    ShareState,
    StateBatch,
    StateUpdate,
)

ME, OTHER = 1, 2
KEY = SharePartitionKey("group", bytes([1] * 16), 0)


def done(offset: int) -> StateBatch:
    return StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1)


class Played:
    """The coordinator of this broker, and the broker that is the other's: both write down what they are asked."""

    def __init__(self) -> None:
        self.leader = ME
        self.asked: list[tuple[int, list[int], int]] = []  # whom, the offsets of a write, its start offset
        self.refusals: deque[ErrorCode | Exception] = deque()
        self.gate: asyncio.Event | None = None
        self.topics_made = 0
        self.clock = ManualClock()
        self.persister = ClusterPersister(
            ME,
            cast("ShareStateCoordinator", self),
            cast("Peers", self),
            self.clock,
            random.Random(0),
        )

    # what a coordinator is asked

    async def ensure_topic(self) -> None:
        self.topics_made += 1

    def leader_of(self, _key: SharePartitionKey) -> int:
        return self.leader

    def write(self, _key: SharePartitionKey, update: StateUpdate) -> Awaitable[None]:
        return self._take(ME, [each.first_offset for each in update.batches], update.start_offset)

    async def read(self, _key: SharePartitionKey, leader_epoch: int) -> ShareState:
        await self._take(ME, [], -1)
        return ShareState(leader_epoch, 0)

    async def _take(self, whom: int, offsets: list[int], start_offset: int) -> None:
        self.asked.append((whom, offsets, start_offset))
        if self.gate is not None:
            await self.gate.wait()
        if self.refusals:
            refusal = self.refusals.popleft()
            raise PersisterError(refusal) if isinstance(refusal, ErrorCode) else refusal

    # what the connection to the other broker is asked

    def channel(self, broker_id: int, *, waits_for: str) -> "Played":
        assert broker_id == OTHER
        assert waits_for, "its answers wait for the disk: they must not hold up others"
        return self

    async def call(self, api_key: int, _version: int, request: Any) -> Any:
        topic = request.topics[0]
        wanted = topic.partitions[0]
        code = ErrorCode.NONE
        is_write = api_key == write_share_group_state.API_KEY
        try:
            offsets = [each.first_offset for each in wanted.state_batches] if is_write else []
            await self._take(OTHER, offsets, wanted.start_offset if is_write else -1)
        except PersisterError as error:
            code = error.code
        if is_write:
            api = write_share_group_state
            result = api.PartitionResult(partition=wanted.partition, error_code=code)
            return api.WriteShareGroupStateResponse(
                results=[api.WriteStateResult(topic_id=topic.topic_id, partitions=[result])]
            )
        read = read_share_group_state
        return read.ReadShareGroupStateResponse(
            results=[
                read.ReadStateResult(
                    topic_id=topic.topic_id,
                    partitions=[read.PartitionResult(error_code=code, start_offset=7)],
                )
            ]
        )

    # what the test does

    def begin_write(
        self, offset: int, *, start: int = -1, leader_epoch: int = 0, state_epoch: int = 0
    ) -> "asyncio.Task[None]":
        update = StateUpdate(state_epoch, leader_epoch, start, 0, [done(offset)])
        return asyncio.ensure_future(self.persister.write(KEY, update))

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def outlast(self, work: "asyncio.Future[Any]") -> None:
        """Let time pass until it is done."""
        for _ in range(100):
            await self.settle()
            if work.done():
                return
            self.clock.advance(10_000)
        raise AssertionError("it would go on for ever")


def play(story: Callable[[Played], Coroutine[Any, Any, None]]) -> Played:
    async def tell() -> Played:
        played = Played()
        await story(played)
        await played.persister.stop()
        return played

    return asyncio.run(tell())


@pytest.mark.parametrize("leader", [ME, OTHER])
def test_the_coordinator_is_called_locally_or_over_the_network(leader: int) -> None:
    async def story(played: Played) -> None:
        played.leader = leader
        await played.begin_write(5, start=3)
        state = await played.persister.read(KEY, 4)
        assert state == (ShareState(4, 0) if leader == ME else ShareState(0, 7))

    assert play(story).asked == [(leader, [5], 3), (leader, [], -1)]


@pytest.mark.parametrize(
    "refusal",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ConnectionResetError("gone"),
    ],
)
@pytest.mark.parametrize("leader", [ME, OTHER])
def test_retriable_errors_are_retried(refusal: ErrorCode | Exception, leader: int) -> None:
    async def story(played: Played) -> None:
        played.leader = leader
        played.refusals.extend([refusal, refusal])
        write = played.begin_write(5)
        await played.settle()
        assert len(played.asked) == 1, "there is a pause first"
        await played.outlast(write)
        await write

    assert play(story).asked == [(leader, [5], -1)] * 3


@pytest.mark.parametrize("leader", [ME, OTHER])
def test_a_final_error_is_not_retried(leader: int) -> None:
    async def story(played: Played) -> None:
        played.leader = leader
        played.refusals.append(ErrorCode.FENCED_LEADER_EPOCH)
        with pytest.raises(PersisterError) as raised:
            await played.begin_write(5)
        assert raised.value.code is ErrorCode.FENCED_LEADER_EPOCH

    assert len(play(story).asked) == 1


def test_retries_without_a_coordinator_end_after_some_time() -> None:
    async def story(played: Played) -> None:
        played.leader = -1
        write = played.begin_write(5)
        await played.outlast(write)
        with pytest.raises(PersisterError) as raised:
            await write
        assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert play(story).asked == []


def test_the_backoff_grows_up_to_a_maximum() -> None:
    async def story(played: Played) -> None:
        asked_ms: list[float] = []
        played.refusals.extend([ErrorCode.NOT_COORDINATOR] * 20)
        write = played.begin_write(5)
        while not write.done():
            await played.settle()
            asked_ms += [played.clock.monotonic_ms()] * (len(played.asked) - len(asked_ms))
            played.clock.advance(10)
        with pytest.raises(PersisterError):
            await write
        pauses = [after - before for before, after in pairwise(asked_ms)]
        assert len(asked_ms) == 10
        assert all(after > 1.3 * before for before, after in pairwise(pauses[:5]))
        assert max(pauses) <= 6010

    play(story)


def test_the_coordinator_is_looked_up_before_every_retry() -> None:
    async def story(played: Played) -> None:
        played.refusals.append(ErrorCode.NOT_COORDINATOR)
        write = played.begin_write(5)
        await played.settle()
        played.leader = OTHER
        await played.outlast(write)
        await write

    assert [whom for whom, _, _ in play(story).asked] == [ME, OTHER]


def test_a_retried_write_is_sent_before_later_ones() -> None:
    async def story(played: Played) -> None:
        played.refusals.append(ErrorCode.NOT_COORDINATOR)
        writes = [played.begin_write(1, start=1)]
        await played.settle()
        writes.append(played.begin_write(2, start=2))
        await played.outlast(asyncio.gather(*writes))

    assert play(story).asked == [(ME, [1], 1), (ME, [1], 1), (ME, [2], 2)]


def test_writes_queued_behind_one_are_sent_together() -> None:
    async def story(played: Played) -> None:
        played.gate = asyncio.Event()
        writes = [played.begin_write(offset, start=start) for offset, start in [(1, 0), (2, 1), (3, -1)]]
        await played.settle()
        assert len(played.asked) == 1
        played.gate.set()
        await asyncio.gather(*writes)

    assert play(story).asked == [(ME, [1, 2, 3], 1)]


def test_a_write_that_was_sent_is_not_merged() -> None:
    async def story(played: Played) -> None:
        played.gate = asyncio.Event()
        writes = [played.begin_write(1)]
        await played.settle()
        writes += [played.begin_write(2), played.begin_write(3), played.begin_write(4, leader_epoch=1)]
        writes += [played.begin_write(5, leader_epoch=1, state_epoch=1)]
        await played.settle()
        read = asyncio.ensure_future(played.persister.read(KEY, 1))
        await played.settle()
        played.gate.set()
        await asyncio.gather(*writes, read)

    assert [offsets for _, offsets, _ in play(story).asked] == [[1], [2, 3], [4], [5], []]


def test_a_merged_write_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persister, "_BATCHES_MAX", 2)

    async def story(played: Played) -> None:
        await asyncio.gather(*(played.begin_write(offset) for offset in range(5)))

    assert [offsets for _, offsets, _ in play(story).asked] == [[0, 1], [2, 3], [4]]


def test_a_cancelled_waiter_does_not_affect_the_others() -> None:
    async def story(played: Played) -> None:
        played.gate = asyncio.Event()
        impatient, patient = played.begin_write(1), played.begin_write(2)
        await played.settle()
        impatient.cancel()
        await played.settle()
        played.gate.set()
        await patient

    assert play(story).asked == [(ME, [1, 2], -1)]


def test_an_abandoned_request_is_not_retried() -> None:
    async def story(played: Played) -> None:
        played.refusals.append(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        abandoned = played.begin_write(1)
        await played.settle()
        abandoned.cancel()
        await played.settle()
        await played.begin_write(2)

    assert play(story).asked == [(ME, [1], -1), (ME, [2], -1)]


def test_an_abandoned_request_is_not_sent_when_the_connection_opens() -> None:
    async def story(played: Played) -> None:
        played.leader = OTHER
        opened, call = asyncio.Event(), played.call

        async def open_and_call(api_key: int, _version: int, request: Any) -> Any:
            await opened.wait()
            return await call(api_key, _version, request)

        played.call = open_and_call  # type: ignore[method-assign]
        abandoned, queued = played.begin_write(1), asyncio.ensure_future(played.persister.read(KEY, 1))
        await played.settle()
        abandoned.cancel()
        queued.cancel()
        await played.settle()
        opened.set()
        await played.begin_write(2)

    assert play(story).asked == [(OTHER, [2], -1)]


def test_waiting_requests_fail_when_the_broker_stops() -> None:
    async def story(played: Played) -> None:
        played.gate = asyncio.Event()
        begun = played.begin_write(1)
        await played.settle()
        waiting = played.begin_write(2)
        await played.settle()

        await played.persister.stop()

        for each in (begun, waiting, played.begin_write(3)):
            with pytest.raises(PersisterError) as raised:
                await each
            assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert [offsets for _, offsets, _ in play(story).asked] == [[1]]
