"""Uncommitted state of coordinators: it is not returned to clients, and may never be committed."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.cluster.metadata.state import Topic
from penstock.cluster.metadata.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from penstock.cluster.replica import Replica
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.describe_groups import DescribeGroupsRequest
from penstock.protocol.messages.describe_transactions import DescribeTransactionsRequest
from penstock.protocol.messages.list_groups import ListGroupsRequest
from penstock.protocol.messages.list_transactions import ListTransactionsRequest
from penstock.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.groups.group_client import GroupClient
from tests.groups.services.consumer.members import Consumer
from tests.groups.services.share.members import ShareConsumer
from tests.server.live import Live, code, one, running_broker, until
from tests.transactions.live_producer import LiveProducer

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


def run(story: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await story

    asyncio.run(bounded())


class Held:
    """A partition with a second replica that is in sync and stores nothing: nothing is committed."""

    def __init__(self, live: Live, topic: str) -> None:
        replica = live.services.replicas.leader_of(topic, 0)
        assert isinstance(replica, Replica)
        self.replica = replica
        self.end_offset = replica.log.log_end_offset
        self.says(replicas=(1, 2), isr=(1, 2))

    def says(self, **changes: Any) -> None:
        """The present state of the metadata."""
        state = self.replica.state
        assert state is not None
        self.replica.follow(
            msgspec.structs.replace(state, partition_epoch=state.partition_epoch + 1, **changes)
        )

    async def until_appended(self) -> None:
        await until(lambda: self.replica.log.log_end_offset > self.end_offset)

    async def until_answered_or_waiting(
        self, partition: CoordinatorPartition[Any], count: int, *asked: Any
    ) -> None:
        """Until so many wait for the coordinator's log, or those who asked have their answers."""

        def is_so() -> bool:
            waiting = [*partition._in_flight, *([partition._open] if partition._open else [])]
            return sum(len(each._waiters) for each in waiting) >= count or all(each.done() for each in asked)

        await until(is_so)

    def is_lost(self) -> None:
        """Another broker leads, which never had it."""
        self.says(leader=2, leader_epoch=self.replica.leader_epoch + 1)

    def is_committed(self) -> None:
        self.says(isr=(1,))


def test_groups_are_described_and_listed_once_their_state_is_committed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client, asking = await live.connect(), await live.connect()
            topic, member = await client.create_topic(), GroupClient(client, "g")
            await member.find()
            held = Held(live, CONSUMER_OFFSETS)
            committing = asyncio.ensure_future(member.commit(topic, {0: 1}))
            await held.until_appended()
            listing = asyncio.ensure_future(asking.send(ListGroupsRequest()))
            describing = asyncio.ensure_future(asking.send(DescribeGroupsRequest(groups=["g"])))
            shard = live.services.groups.find("g")
            assert not isinstance(shard, ErrorCode)
            await held.until_answered_or_waiting(shard, 3, listing, describing)
            held.is_lost()
            assert (await listing).groups == []
            assert code(one((await describing).groups).error_code) == "NOT_COORDINATOR"
            assert await committing == {0: "NOT_COORDINATOR"}

    run(story())


def test_members_of_the_new_protocols_are_described_once_they_are_committed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client, asking = await live.connect(), await live.connect()
            topic = await client.create_topic()
            consumer = await Consumer(client, "c", "m1", topic).find()
            sharer = ShareConsumer(await live.connect(), "s", "m1", topic)
            held = Held(live, CONSUMER_OFFSETS)
            joining = [asyncio.ensure_future(each.join()) for each in (consumer, sharer)]
            await held.until_appended()
            shard = live.services.groups.find("c")
            assert not isinstance(shard, ErrorCode)
            await until(lambda: bool(shard.state.consumers and shard.state.shares))
            describing = [
                asyncio.ensure_future(Consumer(asking, "c").describe()),
                asyncio.ensure_future(ShareConsumer(asking, "s").describe()),
            ]
            await held.until_answered_or_waiting(shard, 4, *describing)
            held.is_lost()
            answers: list[Any] = await asyncio.gather(*describing, *joining)
            assert [code(each.error_code) for each in answers] == ["NOT_COORDINATOR"] * 4

    run(story())


def test_transactions_are_described_and_listed_once_their_state_is_committed(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client, asking = await live.connect(), await live.connect()
            await live.services.transactions.ensure_ready("app")
            held = Held(live, TRANSACTION_STATE)
            beginning = asyncio.ensure_future(LiveProducer(client, "app").init())
            await held.until_appended()
            listing = asyncio.ensure_future(asking.send(ListTransactionsRequest()))
            request = DescribeTransactionsRequest(transactional_ids=["app"])
            describing = asyncio.ensure_future(asking.send(request))
            ids = live.services.transactions.partitions.find("app")
            assert not isinstance(ids, ErrorCode)
            await held.until_answered_or_waiting(ids, 3, listing, describing)
            held.is_lost()
            assert (await listing).transaction_states == []
            assert code(one((await describing).transaction_states).error_code) == "NOT_COORDINATOR"
            assert (await beginning).name == "NOT_COORDINATOR"

    run(story())


def test_a_classic_member_leaving_a_consumer_group_is_answered_once_that_is_committed(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client = await live.connect()
            topic = await client.create_topic()
            await (await Consumer(client, "g", "m1", topic).find()).join()
            classic = GroupClient(client, "g")
            assert code((await classic.join(topics=[topic.name])).error_code) == "NONE"
            held = Held(live, CONSUMER_OFFSETS)
            leaving = [asyncio.ensure_future(classic.leave(version)) for version in (5, 1)]
            await held.until_appended()
            held.is_lost()
            assert await asyncio.gather(*leaving) == ["NOT_COORDINATOR"] * 2

    run(story())


def test_an_offset_is_returned_with_the_topic_id_that_it_was_looked_up_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_broker(tmp_path, SETTINGS) as live:
            client, asking = await live.connect(), await live.connect()
            topic, member = await client.create_topic(), GroupClient(client, "g")
            await member.find()
            held = Held(live, CONSUMER_OFFSETS)
            committing = asyncio.ensure_future(member.commit(topic, {0: 7}))
            await held.until_appended()
            group = OffsetFetchRequestGroup(group_id="g", topics=None)
            fetching = asyncio.ensure_future(asking.send(OffsetFetchRequest(groups=[group])))
            shard = live.services.groups.find("g")
            assert not isinstance(shard, ErrorCode)
            await held.until_answered_or_waiting(shard, 2, fetching)
            image = live.services.controller.image
            before = image.topics[topic.name]
            image.topics[topic.name] = Topic(topic.name, b"n" * 16)  # deleted, and made again
            held.is_committed()
            (found,) = one((await fetching).groups).topics
            image.topics[topic.name] = before
            assert (found.topic_id, one(found.partitions).committed_offset) == (topic.id, 7)
            await committing

    run(story())
