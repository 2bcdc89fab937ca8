"""Records are stored once, although connections break: a broker that is reached through a line that can be cut."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from penstock.client.aio import BrokerError, Client, ClientSettings, TimedOut, TopicPartition, pool
from penstock.client.connection import Connection, Disconnected
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages import produce
from penstock.protocol.records.builder import NewRecord
from tests.server.live import Live

Fault = Callable[[Connection], None]


class Line:
    """Lets answers to Produce requests get lost, as often as asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost_answers = 0
        self.sent = 0
        call = pool.BrokerConnection.call

        async def losing(
            connection: pool.BrokerConnection, message: object, **options: float | None
        ) -> object:
            answer = await call(connection, message, **options)  # type: ignore[arg-type]
            if isinstance(message, produce.ProduceRequest):
                self.sent += 1
                if self.lost_answers:
                    self.lost_answers -= 1
                    await connection.close()
                    raise Disconnected("cut by the test")
            return answer

        monkeypatch.setattr(pool.BrokerConnection, "call", losing)


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
        line = Line(monkeypatch)
        for number in range(5):
            line.lost_answers = number % 3
            [outcome] = await client.produce("once", 0, [NewRecord(value=b"%d" % number)])
            assert (outcome.offset, outcome.error) == (number, ErrorCode.NONE)
        assert line.sent == 5 + 0 + 1 + 2 + 0 + 1
        assert await stored(client, "once") == [b"0", b"1", b"2", b"3", b"4"]


async def test_after_an_open_outcome_the_next_records_are_stored_all_the_same(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_with_topic(live, "open", deadline_ms=50) as client:
        await client.produce("open", 0, [NewRecord(value=b"a")])
        line = Line(monkeypatch)
        line.lost_answers = 1_000_000
        with pytest.raises(TimedOut):
            await client.produce("open", 0, [NewRecord(value=b"b")])
        line.lost_answers = 0
        [outcome] = await client.produce("open", 0, [NewRecord(value=b"c")])
        assert outcome.error == ErrorCode.NONE
        assert await stored(client, "open") == [b"a", b"b", b"c"]


async def test_a_caller_that_gives_up_does_not_disturb_the_others(live: Live) -> None:
    async with client_with_topic(live, "given-up") as client:
        first = asyncio.create_task(client.produce("given-up", 0, [NewRecord(value=b"a")]))
        second = asyncio.create_task(client.produce("given-up", 0, [NewRecord(value=b"b")]))
        await asyncio.sleep(0)
        first.cancel()
        [outcome] = await second
        assert outcome.error == ErrorCode.NONE
        assert b"b" in await stored(client, "given-up")


async def test_records_for_a_topic_that_was_deleted_are_refused(live: Live) -> None:
    async with client_with_topic(live, "deleted") as client:
        await client.produce("deleted", 0, [NewRecord(value=b"a")])
        await client.delete_topic("deleted")
        with pytest.raises(BrokerError) as refused:
            await client.produce("deleted", 0, [NewRecord(value=b"b")])
        assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
