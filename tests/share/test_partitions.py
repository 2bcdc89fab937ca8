"""The share partitions of a broker: loaded, written back, and ended when they count no more."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.cluster.metadata.delta import MetadataDelta
from penstock.cluster.metadata.state import Partition, Topic
from penstock.config.offset_reset import OffsetReset, ResetKind
from penstock.protocol.errors import ErrorCode
from penstock.share.led_partition import LedPartition
from penstock.share.partition.values import AcknowledgeType
from penstock.share.partitions import Outcome
from penstock.share.state.values import (
    UNINITIALIZED_OFFSET,
    PersisterError,
    RecordState,
    ShareState,
    StateBatch,
)
from penstock.storage.errors import LogCorrupt
from tests.share.scene import END_OFFSET, KEY, LOCK_MS, TOPIC_ID, FakeLog, Scene, play, turns

# -- loading


def test_the_state_is_read_in_the_epoch_of_the_leader() -> None:
    async def story(scene: Scene) -> None:
        scene.persister.state = ShareState(1, 4, (StateBatch(4, 5, RecordState.ACKNOWLEDGED, 1),))
        led = await scene.led()
        assert led.state is not None
        assert led.state.next_fetch_offset == 6
        assert scene.persister.done == ["read in epoch 5"]
        assert scene.partitions.led(KEY, scene.settings) is led
        assert len(scene.partitions) == 1

    play(story)


@pytest.mark.parametrize(
    ("reset", "found", "start"),
    [
        (OffsetReset(ResetKind.EARLIEST), None, 3),
        (OffsetReset(ResetKind.LATEST), None, END_OFFSET),
        (OffsetReset(ResetKind.BY_DURATION, 1000), SimpleNamespace(offset=7), 7),
    ],
)
def test_a_group_without_offsets_starts_where_it_is_set_to_and_that_is_written(
    reset: OffsetReset, found: Any, start: int
) -> None:
    async def story(scene: Scene) -> None:
        scene.persister.state = ShareState(1, UNINITIALIZED_OFFSET)
        scene.reset = reset
        cast("FakeLog", scene.leader._log).found = found
        led = await scene.led()
        assert led.state is not None
        assert led.state.start_offset == start
        is_known_anyway = reset.kind is ResetKind.EARLIEST
        assert (
            scene.persister.done == ["read in epoch 5", "written in epoch 5"][: 1 if is_known_anyway else 2]
        )

    play(story)


def test_a_leader_without_a_high_watermark_has_no_latest_offset() -> None:
    async def story(scene: Scene) -> None:
        scene.persister.state = ShareState(1, UNINITIALIZED_OFFSET)
        scene.leader.is_new = True
        assert (await scene.led()).failure is ErrorCode.OFFSET_NOT_AVAILABLE
        scene.leader.is_new = False
        assert (await scene.led()).state is not None

    play(story)


@pytest.mark.parametrize("found", [None, SimpleNamespace(offset=END_OFFSET)])
def test_a_group_that_starts_by_time_waits_for_a_record_of_that_time(found: Any) -> None:
    async def story(scene: Scene) -> None:
        scene.persister.state = ShareState(1, UNINITIALIZED_OFFSET)
        scene.reset = OffsetReset(ResetKind.BY_DURATION, 1000)
        cast("FakeLog", scene.leader._log).found = found
        assert (await scene.led()).failure is ErrorCode.OFFSET_NOT_AVAILABLE
        assert scene.persister.done == ["read in epoch 5"]

    play(story)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PersisterError(ErrorCode.NOT_COORDINATOR), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (PersisterError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (PersisterError(ErrorCode.GROUP_ID_NOT_FOUND), ErrorCode.GROUP_ID_NOT_FOUND),
        (PersisterError(ErrorCode.FENCED_LEADER_EPOCH), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (PersisterError(ErrorCode.INVALID_REQUEST), ErrorCode.UNKNOWN_SERVER_ERROR),
        (RuntimeError("a bug"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
    ids=str,
)
def test_the_next_fetch_retries_a_failed_load(error: Exception, expected: ErrorCode) -> None:
    async def story(scene: Scene) -> None:
        scene.persister.refusal = error
        led = await scene.led()
        assert (led.state, led.failure, led.was_loaded) == (None, expected, False)
        assert len(scene.partitions) == 0
        scene.persister.refusal = None
        assert (await scene.led()).state is not None

    play(story)


def test_a_failed_search_of_the_log_is_reported() -> None:
    async def story(scene: Scene) -> None:
        scene.persister.state = ShareState(1, UNINITIALIZED_OFFSET)
        scene.reset = OffsetReset(ResetKind.BY_DURATION, 1000)
        for error, expected in (
            (LogCorrupt("rotten"), ErrorCode.CORRUPT_MESSAGE),
            (OSError("gone"), ErrorCode.KAFKA_STORAGE_ERROR),
        ):
            cast("FakeLog", scene.leader._log).found = error
            assert (await scene.led()).failure is expected

    play(story)


def test_partitions_of_other_leaders_are_not_loaded() -> None:
    async def story(scene: Scene) -> None:
        scene.replica = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert scene.partitions.led(KEY, scene.settings) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert len(scene.partitions) == 0

    play(story)


# -- writing


def test_an_acknowledgement_counts_when_it_is_written() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.persister.gate = asyncio.Event()
        outcome = scene.say(0, 4, AcknowledgeType.ACCEPT)
        assert not isinstance(outcome, Outcome)
        await turns()
        assert led.state is not None
        assert led.state.start_offset == 0
        scene.persister.gate.set()
        assert await outcome == Outcome()
        assert led.state.start_offset == 5
        assert scene.persister.written == [(StateBatch(0, 4, RecordState.ACKNOWLEDGED, 1),)]

    play(story)


def test_a_client_that_disconnects_does_not_undo_its_acknowledgements() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.persister.gate = asyncio.Event()
        request = asyncio.ensure_future(scene.accept(0, 9))
        await turns()
        request.cancel()
        scene.persister.gate.set()
        await turns()
        assert led.state is not None
        assert led.state.start_offset == 10

    play(story)


def test_acknowledgements_that_were_not_written_can_be_repeated() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        for error in (PersisterError(ErrorCode.NETWORK_EXCEPTION, "no network"), RuntimeError("a bug")):
            scene.persister.refusal = error
            assert (await scene.accept(0, 9)).code is ErrorCode.UNKNOWN_SERVER_ERROR
        scene.persister.refusal = None
        assert await scene.accept(0, 9) == Outcome()

    play(story)


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH])
def test_a_write_that_is_fenced_ends_the_share_partition(code: ErrorCode) -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        led.watch(woken)
        scene.persister.refusal = PersisterError(code)
        assert (await scene.accept(0, 9)).code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (led.failure, woken.done()) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)
        scene.persister.refusal = None
        assert await scene.led() is not led

    play(story)


def test_a_write_to_a_state_that_was_deleted_ends_the_share_partition() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.persister.refusal = PersisterError(ErrorCode.INVALID_REQUEST)
        assert (await scene.accept(0, 9)).code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert led.failure is ErrorCode.UNKNOWN_SERVER_ERROR
        scene.persister.refusal = None
        assert await scene.led() is not led

    play(story)


def test_missing_records_cannot_be_acknowledged() -> None:
    async def story(scene: Scene) -> None:
        assert (await scene.accept(0, 0)).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        scene.partitions.led(KEY, scene.settings)
        assert (await scene.accept(0, 0)).code is ErrorCode.INVALID_RECORD_STATE
        await turns()
        assert (await scene.accept(0, 0)).code is ErrorCode.INVALID_RECORD_STATE

    play(story)


def test_expired_locks_are_written_and_wake_waiting_fetches() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        await turns()
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        led.watch(woken)
        scene.clock.advance(LOCK_MS - 1)
        await turns()
        assert not woken.done()
        scene.clock.advance(1)
        await turns()
        assert woken.done()
        assert scene.persister.written == [(StateBatch(0, 9, RecordState.AVAILABLE, 1),)]
        scene.acquire(led, "bob")

    play(story)


def test_only_the_records_of_the_member_are_released() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.partitions.release("group", "bob")
        scene.partitions.release("others", "anne")
        await turns()
        assert scene.persister.written == []
        scene.partitions.release("group", "anne")
        await turns()
        assert scene.persister.written == [(StateBatch(0, 9, RecordState.AVAILABLE, 1),)]

    play(story)


# -- the end


@pytest.mark.parametrize("state_epoch", [0, 2])
def test_a_share_partition_ends_when_its_group_has_a_new_state_epoch(state_epoch: int) -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.persister.state = ShareState(state_epoch, 0)
        scene.partitions.verify(led)
        await turns()
        assert led.failure is ErrorCode.NOT_LEADER_OR_FOLLOWER
        again = await scene.led()
        assert again.state is not None
        assert again.state.state_epoch == state_epoch

    play(story)


def test_a_share_partition_continues_when_its_state_is_unchanged_or_unknown() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.partitions.verify(led)
        await turns()
        scene.persister.refusal = PersisterError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        scene.partitions.verify(led)
        await turns()
        assert led.state is not None
        assert await scene.led() is led

    play(story)


def test_concurrent_new_sessions_verify_a_share_partition_once() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        for _ in range(3):
            scene.partitions.verify(led)
        await turns()
        scene.partitions.verify(led)
        await turns()
        assert scene.persister.done[1:] == ["summary", "summary"]

    play(story)


def delta_of(*, leader_epoch: int | None) -> MetadataDelta:
    """Another epoch of partition 0, or none: the topic is deleted."""
    partition = Partition(
        replicas=(1,), isr=(1,), leader=1, leader_epoch=leader_epoch or 5, partition_epoch=0
    )
    topic = Topic(name="t", topic_id=TOPIC_ID)
    topic.partitions[0] = partition
    delta = MetadataDelta(7)
    if leader_epoch is None:
        delta.topic_deleted(topic)
    else:
        delta.partition_changed(topic, 0, partition, partition)
    return delta


@pytest.mark.parametrize(
    ("leader_epoch", "failure"),
    [
        (5, ErrorCode.NONE),
        (6, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_share_partition_ends_with_the_epoch_and_with_the_topic(
    leader_epoch: int | None, failure: ErrorCode
) -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.partitions.apply(delta_of(leader_epoch=leader_epoch))
        assert led.failure is failure
        assert len(scene.partitions) == (0 if failure else 1)

    play(story)


def test_a_share_partition_of_an_earlier_leader_epoch_is_loaded_again() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.leader.leader_epoch = 6
        again = await scene.led()
        assert (led.failure, again.state is not None) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, True)
        assert scene.persister.done == ["read in epoch 5", "read in epoch 6"]

    play(story)


def test_a_load_waits_for_earlier_writes() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.persister.gate = asyncio.Event()
        scene.partitions.release("group", "anne")
        scene.partitions.end_group("group")
        assert led.failure
        again = await scene.led()
        assert (again.state, again.failure) == (None, ErrorCode.NONE)
        scene.persister.gate.set()
        await turns()
        assert again.state is not None
        assert scene.persister.done == ["read in epoch 5", "written in epoch 5", "read in epoch 5"]

    play(story)


def test_a_share_partition_that_ends_during_its_load_is_not_used() -> None:
    async def story(scene: Scene) -> None:
        led = scene.partitions.led(KEY, scene.settings)
        assert isinstance(led, LedPartition)
        scene.partitions.end_all()
        await turns()
        assert (led.state, led.failure) == (None, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    play(story)


def test_a_stopping_broker_waits_for_writes() -> None:
    async def story(scene: Scene) -> None:
        led = await scene.led()
        scene.acquire(led)
        scene.persister.gate = asyncio.Event()
        accepted = asyncio.ensure_future(scene.accept(0, 9))
        await turns()
        stopping = asyncio.ensure_future(scene.partitions.stop())
        await turns()
        assert not stopping.done()
        scene.persister.gate.set()
        await stopping
        assert await accepted == Outcome()
        assert led.failure
        assert scene.partitions.led(KEY, scene.settings) is ErrorCode.NOT_LEADER_OR_FOLLOWER

    play(story)
