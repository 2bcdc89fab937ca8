"""What was decided of a transaction is carried out, whatever goes wrong on the way."""

import asyncio
from collections.abc import Collection
from pathlib import Path

from penstock.protocol.errors import ErrorCode
from penstock.transactions.markers import Marker, MarkerSender
from penstock.transactions.state import TopicPartition
from tests.server.handlers.transactions_support import at_rest, committed_values
from tests.server.live import running_broker
from tests.transactions.live_producer import LiveProducer


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


def test_markers_are_sent_again_after_a_failure_that_nobody_expected(tmp_path: Path) -> None:
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
