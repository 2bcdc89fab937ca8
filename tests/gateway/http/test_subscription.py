"""Consuming as a member of a group, over a WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec

from penstock.client.aio import TopicPartition
from tests.gateway.http.admin import Admin


class Subscriber:
    """The client of a subscription: keeps its messages, in order."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.assigned: dict[tuple[str, int], int] = {}
        self.records: list[Any] = []

    async def receive(self) -> Any:
        """The next message, with its changes applied."""
        text = await self.socket.receive_str()
        message = msgspec.json.decode(text)
        if message["type"] == "rebalance":
            for each in message["revoked"]:
                del self.assigned[each["topic"], each["partition"]]
            for each in message["assigned"]:
                self.assigned[each["topic"], each["partition"]] = each["offset"]
            if message["revoked"]:
                await self.send(type="rebalanced")
        elif message["type"] == "records":
            self.records += message["records"]
        return message

    async def until(self, kind: str) -> Any:
        while True:
            message = await self.receive()
            if message["type"] == kind:
                return message

    async def until_assigned(self, count: int) -> None:
        while len(self.assigned) != count:
            await self.receive()

    async def until_read(self, count: int) -> list[str]:
        while len(self.records) < count:
            await self.receive()
        return [each["value"] for each in self.records]

    async def send(self, **message: Any) -> None:
        await self.socket.send_str(msgspec.json.encode(message).decode())

    async def commit(self, *offsets: tuple[str, int, int]) -> Any:
        committed = [
            {"topic": topic, "partition": partition, "offset": at} for topic, partition, at in offsets
        ]
        await self.send(type="commit", offsets=committed, id="c")
        return await self.until("committed")


@contextlib.asynccontextmanager
async def subscribed(admin: Admin, group: str, query: str) -> AsyncIterator[Subscriber]:
    async with admin.http.ws_connect(f"/groups/{group}/subscribe?{query}") as socket:
        subscriber = Subscriber(socket)
        joined = await subscriber.receive()
        assert (joined["type"], joined["group"]) == ("joined", group)
        yield subscriber


async def test_a_member_gets_its_partitions_and_their_records(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    await admin.fill(topic, ["a"], 0)
    await admin.fill(topic, ["b"], 1)
    async with subscribed(admin, f"{topic}-group", f"topics={topic}&reset=earliest") as member:
        assert sorted(await member.until_read(2)) == ["a", "b"]
        assert member.assigned == {(topic, 0): 0, (topic, 1): 0}
        await admin.fill(topic, ["c"], 1)
        assert (await member.until_read(3))[-1] == "c"


async def test_the_next_member_continues_at_the_committed_offsets(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.fill(topic, ["a", "b", "c"])
    group = f"{topic}-group"
    async with subscribed(admin, group, f"topics={topic}&reset=earliest") as member:
        await member.until_read(3)
        committed = await member.commit((topic, 0, 2))
        assert committed["id"] == "c"
        assert committed["offsets"] == [{"topic": topic, "partition": 0, "offset": 2}]
    assert await admin.kafka.committed(group) == {TopicPartition(topic, 0): 2}
    async with subscribed(admin, group, f"topics={topic}&reset=earliest") as member:
        assert await member.until_read(1) == ["c"]
        assert member.assigned == {(topic, 0): 2}


async def test_two_members_share_the_partitions_and_those_of_a_dead_one_go_to_the_other(
    admin: Admin,
) -> None:
    topic = await admin.topic(partitions=4)
    group, query = f"{topic}-group", f"topics={topic}&reset=earliest"
    async with subscribed(admin, group, query) as first:
        await first.until_assigned(4)
        async with subscribed(admin, group, query) as second:
            await asyncio.gather(first.until_assigned(2), second.until_assigned(2))
            assert not first.assigned.keys() & second.assigned.keys()
            transport = second.socket._response.connection.transport  # type: ignore[union-attr]
            assert transport is not None
            transport.abort()  # as if its machine had died
            await first.until_assigned(4)
            for partition in range(4):
                await admin.fill(topic, [str(partition)], partition)
            assert sorted(await first.until_read(4)) == ["0", "1", "2", "3"]


async def test_revoked_partitions_may_be_committed_until_the_revocation_is_confirmed(admin: Admin) -> None:
    topic = await admin.topic(partitions=2)
    await admin.fill(topic, ["a"], 0)
    await admin.fill(topic, ["b"], 1)
    group, query = f"{topic}-group", f"topics={topic}&reset=earliest"
    async with subscribed(admin, group, query) as first:
        await first.until_read(2)
        async with subscribed(admin, group, query) as second:
            while not (message := msgspec.json.decode(await first.socket.receive_str())).get("revoked"):
                pass
            [revoked] = message["revoked"]
            done = await first.commit((topic, revoked["partition"], 1))
            assert "error" not in done["offsets"][0]
            await first.send(type="rebalanced")
            await second.until_assigned(1)
            assert second.assigned == {(topic, revoked["partition"]): 1}
            refused = await first.commit((topic, revoked["partition"], 1))
            assert refused["offsets"][0]["error"]["status"] == 409


async def test_no_more_is_sent_than_the_window_until_some_is_acknowledged(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.fill(topic, [str(n) for n in range(10)])
    query = f"topics={topic}&reset=earliest&window=4"
    async with subscribed(admin, f"{topic}-group", query) as member:
        assert await member.until_read(4) == ["0", "1", "2", "3"]
        await member.send(type="ack", offsets=[{"topic": topic, "partition": 0, "offset": 1}])
        message = await member.receive()
        assert [each["value"] for each in message["records"]] == ["4"]
        await member.commit((topic, 0, 5))
        assert await member.until_read(9) == [str(n) for n in range(9)]


async def test_a_subscriber_that_acknowledges_nothing_is_disconnected(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.fill(topic, ["a", "b"])
    query = f"topics={topic}&reset=earliest&window=1&max_processing_ms=1"
    async with subscribed(admin, f"{topic}-group", query) as member:
        problem = (await member.until("problem"))["problem"]
        assert "Nothing was acknowledged" in problem["detail"]
        assert (await member.socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_an_invalid_message_is_answered_and_the_subscription_continues(admin: Admin) -> None:
    topic = await admin.topic()
    async with subscribed(admin, f"{topic}-group", f"topics={topic}") as member:
        for text in ("{", '{"type":"commit"}', '{"type":"dance"}', '{"type":"ack","offsets":[{"a":1}]}'):
            await member.socket.send_str(text)
            assert (await member.until("problem"))["problem"]["status"] == 400
        await member.socket.send_bytes(b"\0")
        assert "must be a JSON text" in (await member.until("problem"))["problem"]["detail"]
        refused = await member.commit((topic, 7, 0))
        assert "not assigned to this member" in refused["offsets"][0]["error"]["detail"]
        await member.until_assigned(1)


async def test_an_out_of_range_offset_is_reset_by_the_subscribers_policy(admin: Admin) -> None:
    topic = await admin.topic()
    await admin.fill(topic, ["a"])
    group = f"{topic}-group"
    async with subscribed(admin, group, f"topics={topic}&reset=earliest") as member:
        await member.until_assigned(1)
        await member.commit((topic, 0, 50))
    async with subscribed(admin, group, f"topics={topic}&reset=earliest") as member:
        assert await member.until_read(1) == ["a"]
    async with subscribed(admin, group, f"topics={topic}&reset=none") as member:
        problem = (await member.until("problem"))["problem"]
        assert "reset=earliest or reset=latest" in problem["detail"]
