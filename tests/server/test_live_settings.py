"""Settings that are changed take effect while the broker runs."""

from pathlib import Path

from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.protocol.records.batch import iter_batches
from penstock.runtime.clock import ManualClock
from tests.server.live import Client, Live, TopicHandle, batch, code, one, running_broker, until

TOPIC, BROKER = 2, 4


async def configure(client: Client, kind: int, name: str, **settings: str) -> None:
    changes = [
        AlterableConfig(name=n.replace("_", "."), config_operation=0, value=v) for n, v in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
    response = await client.send(IncrementalAlterConfigsRequest(resources=[resource]))
    assert one(response.responses).error_code == 0, response


def leader_of(live: Live, topic: TopicHandle) -> Replica:
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    return leader


async def test_a_changed_max_message_bytes_applies_at_once(client: Client) -> None:
    topic = await client.create_topic()
    large = batch(b"v" * 1000)
    assert (await client.produce(topic, large)).error_code == 0
    await configure(client, TOPIC, topic.name, max_message_bytes="500")
    assert code((await client.produce(topic, large)).error_code) == "MESSAGE_TOO_LARGE"
    await configure(client, TOPIC, topic.name, max_message_bytes="5000")
    assert (await client.produce(topic, large)).error_code == 0


async def test_a_changed_compression_type_applies_at_once(client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v" * 1000))
    for codec in ("lz4", "zstd", "uncompressed", "producer"):
        await configure(client, TOPIC, topic.name, compression_type=codec)
        await client.produce(topic, batch(b"v" * 1000))
    data = await client.fetch(topic)
    stored = [header.codec for _, header in iter_batches(data.records or b"")]
    assert stored == [Codec.NONE, Codec.LZ4, Codec.ZSTD, Codec.NONE, Codec.NONE]


async def test_a_changed_timestamp_type_applies_at_once(client: Client) -> None:
    topic = await client.create_topic()
    assert (await client.produce(topic, batch(b"v"))).log_append_time_ms == -1
    await configure(client, TOPIC, topic.name, message_timestamp_type="LogAppendTime")
    assert (await client.produce(topic, batch(b"v"))).log_append_time_ms > 0


async def test_a_changed_segment_size_applies_at_once(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    for _ in range(3):
        await client.produce(topic, batch(b"v" * 600_000))
    log = leader_of(live, topic).log
    assert len(log.segments) == 1
    await configure(client, TOPIC, topic.name, segment_bytes=str(1 << 20))
    for _ in range(4):
        await client.produce(topic, batch(b"v" * 600_000))
    assert len(log.segments) == 5


async def test_a_changed_flush_messages_applies_at_once(live: Live, client: Client) -> None:
    """A topic that waives the sync is acknowledged without one, and synced again once it does not."""
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v"))
    log = leader_of(live, topic).log
    assert log.durable_offset == 1
    await configure(client, TOPIC, topic.name, flush_messages="1000")
    assert (await client.produce(topic, batch(b"v"))).base_offset == 1
    assert (await client.fetch(topic)).high_watermark == 2
    assert log.durable_offset == 1
    await configure(client, TOPIC, topic.name, flush_messages="1")
    assert (await client.produce(topic, batch(b"v"))).base_offset == 2
    assert log.durable_offset == 3


async def test_a_changed_retention_applies_at_once(tmp_path: Path) -> None:
    clock = ManualClock()
    async with running_broker(tmp_path, {"log.retention.check.interval.ms": "1000"}, clock=clock) as live:
        client = await live.connect()
        topic = await client.create_topic(configs={"segment.records": "1"})
        for _ in range(5):
            await client.produce(topic, batch(b"v", timestamp=clock.now_ms()))
        await configure(client, TOPIC, topic.name, retention_ms="60000")
        leader = leader_of(live, topic)
        for _ in range(200):
            clock.advance(1000)
            await until(lambda: True)
        await until(lambda: leader.log.log_start_offset == 5)
        assert code((await client.fetch(topic, 0)).error_code) == "OFFSET_OUT_OF_RANGE"


async def test_broker_defaults_apply_to_topics_without_their_own_value(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        own = await client.create_topic(configs={"max.message.bytes": "100000"})
        await configure(client, BROKER, "", message_max_bytes="500")
        assert code((await client.produce(topic, batch(b"v" * 1000))).error_code) == "MESSAGE_TOO_LARGE"
        assert (await client.produce(own, batch(b"v" * 1000))).error_code == 0
        await configure(client, BROKER, "1", message_max_bytes="5000")
        assert (await client.produce(topic, batch(b"v" * 1000))).error_code == 0


async def test_a_cluster_default_applies_to_existing_topics_at_a_start(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await client.create_topic()
        await configure(client, BROKER, "", log_flush_interval_messages="1000")
        await client.close()
    async with running_broker(tmp_path) as live:
        assert leader_of(live, topic).log.config.flush_messages == 1000
