"""DescribeProducers against a live broker."""

from penstock.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from tests.server.live import Client, batch, code, one


async def describe(client: Client, topic: str, partition: int = 0) -> PartitionResponse:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
    found: PartitionResponse = one(one((await client.send(request)).topics).partitions)
    return found


async def test_producers_are_described_with_their_last_sequences(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"plain"))
    assert (await describe(client, topic.name)).active_producers == []
    await client.produce(
        topic, batch(b"a", b"b", producer_id=700, epoch=2, sequence=0, timestamp=1_700_000_000_000)
    )
    await client.produce(topic, batch(b"c", producer_id=701, epoch=0, sequence=0))
    found = {p.producer_id: p for p in (await describe(client, topic.name)).active_producers}
    assert set(found) == {700, 701}
    state = found[700]
    assert (state.producer_epoch, state.last_sequence, state.last_timestamp) == (2, 1, 1_700_000_000_000)
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)


async def test_unknown_partitions_and_topics_are_refused(client: Client) -> None:
    topic = await client.create_topic()
    for name, partition, expected in [
        ("no-such-topic", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 3, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("white space", 0, "INVALID_TOPIC_EXCEPTION"),
    ]:
        found = await describe(client, name, partition)
        assert (code(found.error_code), found.active_producers) == (expected, [])
        assert found.error_message
