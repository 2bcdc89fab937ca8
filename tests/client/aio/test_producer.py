"""Records are stored once although connections break: a broker behind a proxy that loses answers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from penstock.client.aio import BrokerError, Client, ClientSettings, TimedOut, TopicPartition, pool
from penstock.client.connection import Connection, Disconnected
from penstock.client.core.steps import Send
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import produce
from penstock.protocol.records.builder import NewRecord
from tests.server.live import Live

Fault = Callable[[Connection], None]


class LossyProxy:
    """Loses as many answers to Produce requests as the test wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost_answers = 0
        self.sent = 0
        send = pool.ConnectionPool.send

        async def losing(connections: pool.ConnectionPool, step: Send) -> object:
            answer: object = await send(connections, step)
            if step.api_key == produce.API_KEY:
                self.sent += 1
                if self.lost_answers:
                    self.lost_answers -= 1
                    await connections.close()
                    raise Disconnected("cut by the test")
            return answer

        monkeypatch.setattr(pool.ConnectionPool, "send", losing)


@contextlib.asynccontextmanager
async def client_with_topic(live: Live, topic: str, deadline_ms: int = 20_000) -> AsyncIterator[Client]:
    settings = ClientSettings(
        bootstrap_servers=(("127.0.0.1", live.port),), deadline_ms=deadline_ms, retry_backoff_ms=1
    )
    async with Client(settings) as client:
        await client.create_topic(topic, partitions=1)
        yield client


async def stored(client: Client, topic: str) -> list[bytes | None]:
    where = TopicPartition(topic, 0)
    return [record.value for record in (await client.fetch({where: 0}))[where].records]


async def test_a_batch_whose_answer_was_lost_is_stored_once(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_with_topic(live, "once") as client:
        line = LossyProxy(monkeypatch)
        for number in range(5):
            line.lost_answers = number % 3
            [outcome] = await client.produce("once", 0, [NewRecord(value=b"%d" % number)])
            assert (outcome.offset, outcome.error) == (number, ErrorCode.NONE)
        assert line.sent == 5 + 0 + 1 + 2 + 0 + 1
        assert await stored(client, "once") == [b"0", b"1", b"2", b"3", b"4"]


async def test_records_after_a_batch_with_an_unknown_outcome_are_stored(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_with_topic(live, "open", deadline_ms=50) as client:
        await client.produce("open", 0, [NewRecord(value=b"a")])
        line = LossyProxy(monkeypatch)
        line.lost_answers = 1_000_000
        with pytest.raises(TimedOut):
            await client.produce("open", 0, [NewRecord(value=b"b")])
        line.lost_answers = 0
        [outcome] = await client.produce("open", 0, [NewRecord(value=b"c")])
        assert outcome.error == ErrorCode.NONE
        assert await stored(client, "open") == [b"a", b"b", b"c"]


async def test_a_cancelled_caller_does_not_affect_the_others(live: Live) -> None:
    async with client_with_topic(live, "given-up") as client:
        first = asyncio.create_task(client.produce("given-up", 0, [NewRecord(value=b"a")]))
        second = asyncio.create_task(client.produce("given-up", 0, [NewRecord(value=b"b")]))
        await asyncio.sleep(0)
        first.cancel()
        [outcome] = await second
        assert outcome.error == ErrorCode.NONE
        assert b"b" in await stored(client, "given-up")


async def test_records_for_a_deleted_topic_are_refused(live: Live) -> None:
    async with client_with_topic(live, "deleted") as client:
        await client.produce("deleted", 0, [NewRecord(value=b"a")])
        await client.delete_topic("deleted")
        with pytest.raises(BrokerError) as refused:
            await client.produce("deleted", 0, [NewRecord(value=b"b")])
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
