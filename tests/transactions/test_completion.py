"""The decided outcome of a transaction is completed despite failures."""

import asyncio
from collections.abc import Collection
from pathlib import Path

import msgspec
import pytest

from penstock.cluster.coordination.partition import CoordinatorPartition
from penstock.protocol.errors import ErrorCode
from penstock.storage.log.log import Log
from penstock.transactions.markers import Marker, MarkerSender
from penstock.transactions.state import TopicPartition
from tests.server.live import Live, running_broker, until
from tests.transactions.live_producer import LiveProducer
from tests.transactions.live_transactions import at_rest, committed_values


class Broken:
    """A sender with a fault in it, which shows once."""

    def __init__(self, real: MarkerSender) -> None:
        self.real = real
        self.count = 0

    async def send(
        self, marker: Marker, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        self.count += 1
        if self.count == 1:
            raise RuntimeError("nobody expected this")
        return await self.real.send(marker, partitions)


def test_markers_are_retried_after_an_unhandled_error(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_broker(tmp_path) as live, asyncio.timeout(30):
            completions = live.services.transactions._completions
            completions._markers = Broken(completions._markers)
            client = await live.connect()
            topic, producer = await client.create_topic(), LiveProducer(client, "app", is_v2=True)
            await producer.init()
            await producer.produce(topic, b"v")
            assert await producer.end(commit=True) is ErrorCode.NONE
            await at_rest(live, producer)
            assert await committed_values(client, topic) == [b"v"]

    asyncio.run(story())


class NoRoomAfterwards:
    """A sender after whose markers the log of the coordinator takes only records smaller than any."""

    def __init__(self, real: MarkerSender, log: Log) -> None:
        self.real = real
        self.log = log

    async def send(
        self, marker: Marker, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        outcomes = await self.real.send(marker, partitions)
        self.log.configure(msgspec.structs.replace(self.log.config, max_message_bytes=1))
        return outcomes


def log_of(live: Live, producer: LiveProducer) -> Log:
    """The log that the transactions of a producer are written to."""
    ids = live.services.transactions.partitions.find(producer.transactional_id)
    assert isinstance(ids, CoordinatorPartition)
    return ids.replica.log


@pytest.mark.parametrize("is_v2", [False, True])
def test_the_end_of_a_transaction_is_retried_until_the_log_accepts_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_v2: bool
) -> None:
    async def story() -> None:
        async with running_broker(tmp_path) as live, asyncio.timeout(30):
            client = await live.connect()
            topic, producer = await client.create_topic(), LiveProducer(client, "app", is_v2=is_v2)
            await producer.init()
            log = log_of(live, producer)
            usual = log.config
            completions = live.services.transactions._completions
            completions._markers = NoRoomAfterwards(completions._markers, log)
            await producer.write(topic, b"v")
            assert await producer.end(commit=True) is ErrorCode.NONE
            await until(lambda: "Retrying to persist the completion of a transaction" in caplog.text)
            assert await producer.init() is ErrorCode.CONCURRENT_TRANSACTIONS
            log.configure(usual)
            await at_rest(live, producer)
            assert await producer.init() is ErrorCode.NONE
            assert await committed_values(client, topic) == [b"v"]

    asyncio.run(story())
