"""Share groups while the share coordinator refuses requests or does not respond."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.protocol.errors import ErrorCode
from penstock.runtime.clock import ManualClock
from penstock.share.state.values import (
    Persister,
    PersisterError,
    SharePartitionKey,
    ShareState,
    ShareSummary,
    StateUpdate,
)
from tests.groups.services.share.members import SETTINGS, ShareConsumer, group_of
from tests.server.live import Live, TopicHandle, code, one, running_broker, until


class Troubled:
    """A persister that passes all requests on, unless the test sets a failure."""

    def __init__(self, real: Persister) -> None:
        self.real = real
        self.refuses: ErrorCode | None = None
        self.answers = asyncio.Event()
        self.answers.set()
        self.epochs: list[int] = []
        self.outcomes: list[ErrorCode] = []
        """Of what was initialized."""
        self.deletions: list[SharePartitionKey] = []
        self.may_delete = asyncio.Event()
        self.may_delete.set()

    async def _pass(self) -> None:
        await self.answers.wait()
        if self.refuses is not None:
            raise PersisterError(self.refuses)

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        self.epochs.append(state_epoch)
        await self._pass()
        try:
            await self.real.initialize(key, state_epoch, start_offset)
        except PersisterError as error:
            self.outcomes.append(error.code)
            raise
        self.outcomes.append(ErrorCode.NONE)

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        return await self.real.read(key, leader_epoch)

    async def write(self, key: SharePartitionKey, update: StateUpdate) -> None:
        raise NotImplementedError

    async def summary(self, key: SharePartitionKey) -> ShareSummary:
        await self._pass()
        return await self.real.summary(key)

    async def delete(self, key: SharePartitionKey) -> None:
        self.deletions.append(key)
        await self.may_delete.wait()
        await self._pass()
        await self.real.delete(key)


@pytest.fixture
def persister(live: Live) -> Iterator[Troubled]:
    shares = live.services.groups.shares
    real = shares.persister
    shares.persister = troubled = Troubled(real)
    yield troubled
    shares.persister = real


async def test_a_refused_initialization_is_retried_with_the_next_heartbeat(
    persister: Troubled, consumer: ShareConsumer
) -> None:
    persister.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    answer = await consumer.join()
    assert (code(answer.error_code), answer.member_epoch, consumer.numbers) == ("NONE", 2, [])

    persister.refuses = None
    await consumer.join()

    assert consumer.numbers == [0, 1, 2, 3]
    assert persister.epochs == [2] * 8, "the group's epoch is that of the state"


async def test_a_joining_member_waits_no_longer_than_the_heartbeat_interval(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, SETTINGS, clock=clock) as live:
        shares = live.services.groups.shares
        shares.persister = persister = Troubled(shares.persister)
        persister.answers.clear()
        client = await live.connect()
        topic = await client.create_topic(partitions=1)
        consumer = await ShareConsumer(client, "g", "m1", topic).find()

        joining = asyncio.ensure_future(consumer.join())
        await until(lambda: bool(persister.epochs))
        assert not joining.done()
        clock.advance(5000)
        answer = await joining
        assert (code(answer.error_code), answer.member_epoch, consumer.numbers) == ("NONE", 2, [])

        persister.answers.set()
        await until(lambda: not group_of(live, "g").in_flight)
        await consumer.beat()
        assert consumer.numbers == [0]
        await client.close()


async def test_a_late_request_of_a_former_coordinator_changes_nothing(
    live: Live, persister: Troubled, consumer: ShareConsumer
) -> None:
    shares, real = live.services.groups.shares, persister.real
    persister.answers.clear()
    joining = asyncio.ensure_future(consumer.join())
    await until(lambda: len(persister.epochs) == 4)
    shard = live.services.groups.find(consumer.group)
    assert not isinstance(shard, ErrorCode)
    live.services.groups.shards._reload(shard)  # another begins where this one was
    shares.persister = Troubled(real)
    await until(lambda: not isinstance(live.services.groups.find(consumer.group), ErrorCode))
    await consumer.join()
    assert consumer.numbers == [0, 1, 2, 3]
    key = SharePartitionKey(consumer.group, consumer.topics[0].id, 0)
    state = await real.read(key, 0)
    await real.write(key, StateUpdate(state.state_epoch, 0, 10, 0, ()))

    persister.answers.set()
    await until(lambda: len(persister.outcomes) == 4)
    await joining

    assert (await real.summary(key)).start_offset == 10
    assert {code(each) for each in persister.outcomes} == {"FENCED_STATE_EPOCH"}


async def test_a_leader_with_state_from_before_offsets_were_set_is_fenced(
    persister: Troubled, consumer: ShareConsumer
) -> None:
    topic = consumer.topics[0]
    await consumer.alter(topic.name, {0: 5})
    persister.answers.clear()
    altering = asyncio.ensure_future(consumer.alter(topic.name, {0: 2}))
    await until(lambda: len(persister.epochs) == 2)
    key = SharePartitionKey(consumer.group, topic.id, 0)
    state = await persister.real.read(key, 0)
    persister.answers.set()
    await altering

    with pytest.raises(PersisterError, match="FENCED_STATE_EPOCH"):
        await persister.real.write(key, StateUpdate(state.state_epoch, 0, 7, 0, ()))
    assert (await persister.real.summary(key)).start_offset == 2


async def test_a_group_whose_state_cannot_be_deleted_stays(
    persister: Troubled, consumer: ShareConsumer
) -> None:
    await consumer.join()
    await consumer.leave()
    persister.refuses = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert await consumer.delete_group() == "COORDINATOR_LOAD_IN_PROGRESS"
    assert (await consumer.describe()).group_state == "Empty"

    persister.refuses = None
    assert await consumer.delete_group() == "NONE"
    assert code((await consumer.describe()).error_code) == "GROUP_ID_NOT_FOUND"


async def test_a_member_that_joins_while_the_group_is_being_deleted_continues_to_read(
    persister: Troubled, consumer: ShareConsumer, live: Live
) -> None:
    await consumer.join()
    await consumer.leave()
    persister.answers.clear()
    other = await live.connect()
    deleting = asyncio.ensure_future(ShareConsumer(other, consumer.group).delete_group())
    await until(lambda: bool(group_of(live, consumer.group).in_flight))
    await consumer.join()
    assert consumer.numbers == [], "what is about to be forgotten is not given out"

    persister.answers.set()
    assert await deleting == "NON_EMPTY_GROUP"
    await consumer.join()
    assert consumer.numbers == [0, 1, 2, 3]
    assert {start for start, _ in (await consumer.starts(consumer.topics[0])).values()} == {-1}
    await other.close()


async def test_a_refused_change_or_deletion_of_offsets_returns_the_coordinators_error(
    persister: Troubled, consumer: ShareConsumer, topic: TopicHandle
) -> None:
    await consumer.alter(topic.name, {0: 5})
    persister.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE

    result = one(one((await consumer.alter(topic.name, {0: 7})).responses).partitions)
    assert code(result.error_code) == "COORDINATOR_NOT_AVAILABLE"
    told_topic = one((await consumer.delete_offsets(topic.name)).responses)
    assert code(told_topic.error_code) == "COORDINATOR_NOT_AVAILABLE"

    persister.refuses = None
    told_topic = one((await consumer.delete_offsets(topic.name)).responses)
    assert (told_topic.topic_name, code(told_topic.error_code)) == (topic.name, "NONE")
    assert (await consumer.offsets()).topics == []


async def test_a_start_offset_is_unknown_when_the_share_coordinator_does_not_respond(
    persister: Troubled, consumer: ShareConsumer, topic: TopicHandle
) -> None:
    await consumer.alter(topic.name, {0: 5})
    persister.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert await consumer.starts(topic) == {0: (-1, -1)}


async def test_a_deletion_stops_when_another_broker_coordinates_the_group(
    live: Live, persister: Troubled, consumer: ShareConsumer
) -> None:
    topic = consumer.topics[0]
    await consumer.alter(topic.name, {0: 5})
    persister.may_delete.clear()
    deleting = asyncio.ensure_future(consumer.delete_offsets(topic.name))
    await until(lambda: len(persister.deletions) == 1)
    shards = live.services.groups.shards
    shard = shards.find(consumer.group)
    assert not isinstance(shard, ErrorCode)
    shards._reload(shard)  # another begins where this one was
    await shards.wait_until_loaded()

    persister.may_delete.set()
    answer = await deleting
    assert code(answer.error_code) == "NOT_COORDINATOR"
    key = SharePartitionKey(consumer.group, topic.id, 0)
    assert (await persister.real.summary(key)).start_offset == 5


async def test_a_join_is_refused_when_another_broker_coordinates_the_group_meanwhile(
    live: Live, persister: Troubled, consumer: ShareConsumer
) -> None:
    persister.answers.clear()
    joining = asyncio.ensure_future(consumer.join())
    await until(lambda: len(persister.epochs) == 4)
    shards = live.services.groups.shards
    shard = shards.find(consumer.group)
    assert not isinstance(shard, ErrorCode)
    shards._reload(shard)

    persister.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE  # so that there is nothing to write
    persister.answers.set()
    assert code((await joining).error_code) == "NOT_COORDINATOR"


async def test_a_deleted_group_leaves_no_state_that_was_initialized_meanwhile(
    live: Live, persister: Troubled, consumer: ShareConsumer
) -> None:
    topic, later = consumer.topics[0], await consumer.client.create_topic()
    await consumer.alter(topic.name, {0: 5})
    persister.may_delete.clear()
    deleting = asyncio.ensure_future(consumer.delete_group())
    await until(lambda: len(persister.deletions) == 1)
    another = ShareConsumer(await live.connect(), consumer.group, "m2", later)
    await another.join()
    assert another.numbers == [0]
    await another.leave()

    persister.may_delete.set()
    assert await deleting == "NONE"

    with pytest.raises(PersisterError):
        await persister.real.read(SharePartitionKey(consumer.group, later.id, 0), 0)
