"""A broker aborts a transaction while it checks a large batch of it on a thread: readers see none of its records."""

import asyncio

from penstock.client.connection import Connection
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from tests.interop.transactional import end_offsets, read
from tests.server.live import Client, TopicHandle, batch, produce_request
from tests.support.broker import BrokerProcess
from tests.transactions.live_producer import LiveProducer

VERSION = 11  # transaction version 1: the abort does not raise the producer's epoch
LARGE = [b"%0200d" % number for number in range(20_000)]
# The abort has to come while the thread works; how long that is depends on the machine.
DELAYS_S = [0.0, 0.002, 0.005, 0.010, 0.015, 0.020, 0.030, 0.045, 0.060]


async def wait_until_ready(producer: LiveProducer) -> None:
    """The coordinator may still be about to end its last transaction."""
    while (code := await producer.init()) is ErrorCode.CONCURRENT_TRANSACTIONS:
        await asyncio.sleep(0.01)
    assert code is ErrorCode.NONE


async def abort_while_sending(
    producer: LiveProducer, sender: Client, topic: TopicHandle, delay_s: float
) -> None:
    """The batch goes over a connection of its own, and the abort over the producer's."""
    assert await producer.add(topic, 0) is ErrorCode.NONE
    records = batch(
        *LARGE,
        codec=Codec.ZSTD,
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        sequence=0,
        is_transactional=True,
    )
    request = produce_request(
        topic, {0: records}, version=VERSION, transactional_id=producer.transactional_id
    )
    answer = sender.send(request, VERSION)
    await asyncio.sleep(delay_s)
    assert await producer.end(commit=False) is ErrorCode.NONE
    await answer


def test_a_consumer_never_sees_a_large_batch_of_an_aborted_transaction(
    own_broker: BrokerProcess,
) -> None:
    next_values = [b"next %d" % number for number in range(len(DELAYS_S))]

    async def write() -> TopicHandle:
        client = Client(await Connection.open("127.0.0.1", own_broker.port))
        sender = Client(await Connection.open("127.0.0.1", own_broker.port))
        topic = await client.create_topic()
        for delay_s, value in zip(DELAYS_S, next_values, strict=True):
            producer = LiveProducer(client, f"app after {delay_s}", is_v2=False)
            await wait_until_ready(producer)
            await abort_while_sending(producer, sender, topic, delay_s)
            await wait_until_ready(producer)
            await producer.write(topic, value)
            assert await producer.end(commit=True) is ErrorCode.NONE
            await wait_until_ready(producer)
        await sender.close()
        await client.close()
        return topic

    topic = asyncio.run(write())
    found = read("confluent-kafka", own_broker.bootstrap, topic.name, len(next_values), committed=True)
    assert found == next_values
    everything, committed = end_offsets(own_broker.bootstrap, topic.name, 0)
    assert everything == committed, "the last stable offset advances"
