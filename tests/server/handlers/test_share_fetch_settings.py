"""The effect of a share group's settings on its fetches: start offset, isolation level, lock duration."""

from collections.abc import Mapping

import msgspec
import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from penstock.server.handlers.shared.fetch_read import FetchRead
from penstock.share.state.values import UNINITIALIZED_OFFSET, SharePartitionKey
from tests.server.handlers.share_support import (
    RELEASE,
    RENEW,
    Member,
    acquired,
    led,
    offsets_in,
    partitions_of,
    prepared,
)
from tests.server.live import Client, Live, batch, code, one, until, values_in
from tests.transactions.live_producer import LiveProducer

_GROUP = 32
HOUR_MS = 3_600_000


async def set_for(client: Client, group_id: str, settings: Mapping[str, str]) -> None:
    response = await client.send(
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=_GROUP,
                    resource_name=group_id,
                    configs=[AlterableConfig(name=n, value=v) for n, v in settings.items()],
                )
            ]
        )
    )
    assert response.responses[0].error_code == 0, response


async def test_a_group_starts_at_the_end_by_default(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"old"))
    group_id = await prepared(live, topic, start_offset=UNINITIALIZED_OFFSET)
    member = Member(client, group_id, topic)
    await member.fetch()
    await until(lambda: led(live, group_id, topic).state)
    await client.produce(topic, batch(b"new"))
    assert values_in(await member.take()) == [b"new"]


async def test_the_start_offset_of_a_group_is_kept(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"old"))
    group_id = await prepared(live, topic, start_offset=UNINITIALIZED_OFFSET)
    short_lived = await live.connect()
    await Member(short_lived, group_id, topic).fetch()
    await until(lambda: led(live, group_id, topic).state)
    partition = led(live, group_id, topic)
    await short_lived.close()
    await until(lambda: partition.failure)
    await client.produce(topic, batch(b"while nobody was there"))
    assert values_in(await Member(client, group_id, topic).take()) == [b"while nobody was there"]
    summary = await live.services.persister.summary(SharePartitionKey(group_id, topic.id, 0))
    assert summary.start_offset == 1


@pytest.mark.parametrize(
    ("start", "first"), [("earliest", 0), ("by_duration:PT3H", 1), ("by_duration:P1D", 0)]
)
async def test_a_group_starts_at_the_configured_offset(
    live: Live, client: Client, start: str, first: int
) -> None:
    topic = await client.create_topic()
    now_ms = live.services.clock.now_ms()
    for age_h in (5, 2, 1):
        await client.produce(topic, batch(b"x", timestamp=now_ms - age_h * HOUR_MS))
    group_id = await prepared(live, topic, start_offset=UNINITIALIZED_OFFSET)
    await set_for(client, group_id, {"share.auto.offset.reset": start})
    member = Member(client, group_id, topic)
    await member.fetch(max_records=0)
    key = SharePartitionKey(group_id, topic.id, 0)
    live.services.shares.partitions.led(key, live.services.shares.settings(group_id))
    await until(lambda: led(live, group_id, topic).state)
    state = led(live, group_id, topic).state
    assert state is not None
    assert state.start_offset == first


async def test_a_start_by_duration_is_an_error_while_no_record_is_late_enough(
    live: Live, client: Client
) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x", timestamp=live.services.clock.now_ms() - HOUR_MS))
    group_id = await prepared(live, topic, start_offset=UNINITIALIZED_OFFSET)
    await set_for(client, group_id, {"share.auto.offset.reset": "by_duration:PT1M"})
    member = Member(client, group_id, topic)
    answer = await member.fetch(max_wait_ms=20)
    assert code(partitions_of(answer)[0].error_code) == "OFFSET_NOT_AVAILABLE"
    await client.produce(topic, batch(b"y"))
    assert values_in(await member.take()) == [b"y"]


async def test_an_invalid_start_is_refused(client: Client) -> None:
    response = await client.send(
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=_GROUP,
                    resource_name="g",
                    configs=[AlterableConfig(name="share.auto.offset.reset", value="by_duration:soon")],
                )
            ]
        )
    )
    assert code(response.responses[0].error_code) == "INVALID_CONFIG"


async def test_settings_may_change_while_the_group_is_active(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"x"))
    member = Member(client, await prepared(live, topic), topic)
    await member.take()
    await set_for(
        client,
        member.group_id,
        {"share.record.lock.duration.ms": "15000", "share.renew.acknowledge.enable": "false"},
    )
    refused = await member.acknowledge({0: [(0, 0, [RENEW])]}, is_renew_ack=True)
    assert refused.acquisition_lock_timeout_ms == 15_000
    assert one(refused.responses[0].partitions).error_code != 0
    assert await member.done_with(0, 0, RELEASE) == 0
    now_ms = live.services.clock.monotonic_ms()
    await member.take()
    state = led(live, member.group_id, topic).state
    assert state is not None
    assert state.next_expiry_ms is not None
    assert now_ms + 14_000 <= state.next_expiry_ms <= live.services.clock.monotonic_ms() + 15_000


async def test_a_read_committed_group_gets_only_committed_records(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    producer = LiveProducer(client, "share-of-transactions")
    await producer.init()
    await producer.write(topic, b"aborted")
    await producer.end(commit=False)
    await producer.write(topic, b"committed")
    await producer.end(commit=True)
    await producer.write(topic, b"open")
    careful = Member(client, await prepared(live, topic), topic)
    await set_for(client, careful.group_id, {"share.isolation.level": "read_committed"})
    data = await careful.take()
    assert acquired(data) == [(1, 3, 1)]
    careless = Member(client, await prepared(live, topic), topic)
    assert acquired(await careless.take()) == [(0, 4, 1)]
    assert partitions_of(await careful.fetch()) == {}
    await producer.end(commit=True)
    assert offsets_in(await careful.take())[0] == 4


async def test_a_leader_replaced_during_a_read_returns_no_aborted_records(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the leader knows which records were aborted; its share partition learns later that it was replaced."""
    topic = await client.create_topic()
    group_id = await prepared(live, topic)
    await set_for(client, group_id, {"share.isolation.level": "read_committed"})
    member = Member(client, group_id, topic)
    await member.fetch()
    await until(lambda: led(live, group_id, topic).state)
    producer = LiveProducer(client, "replaced")
    await producer.init()
    assert code(await producer.produce(topic, b"aborted")) == "NONE"
    assert code(await producer.end(commit=False)) == "NONE"
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    await until(lambda: leader.last_stable_offset == 2)
    read = FetchRead.from_disk

    async def read_and_be_replaced(self: FetchRead) -> None:
        await read(self)
        if self.size:
            assert leader.state is not None
            epoch = leader.leader_epoch + 1
            leader.follow(msgspec.structs.replace(leader.state, leader=2, leader_epoch=epoch))

    monkeypatch.setattr(FetchRead, "from_disk", read_and_be_replaced)
    answer = await member.fetch(max_wait_ms=500)
    part = partitions_of(answer)[0]
    assert (code(part.error_code), part.acquired_records, values_in(part)) == (
        "NOT_LEADER_OR_FOLLOWER",
        [],
        [],
    )


async def test_aborted_records_deleted_after_the_read_are_not_returned(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await client.create_topic()
    group_id = await prepared(live, topic)
    await set_for(client, group_id, {"share.isolation.level": "read_committed"})
    member = Member(client, group_id, topic)
    await member.fetch()
    await until(lambda: led(live, group_id, topic).state)
    producer = LiveProducer(client, "deleted")
    await producer.init()
    await producer.write(topic, b"aborted")
    await producer.end(commit=False)
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    await until(lambda: leader.last_stable_offset == 2)
    leader.log.roll(now_ms=live.services.clock.now_ms())
    await live.broker.parts.store.checkpoint()
    read = FetchRead.from_disk

    async def read_while_segments_are_deleted(self: FetchRead) -> None:
        await read(self)  # of another partition, which this one waits for
        if self.size:
            leader.log.delete_oldest(1, now_ms=0)

    monkeypatch.setattr(FetchRead, "from_disk", read_while_segments_are_deleted)
    part = partitions_of(await member.fetch(max_wait_ms=500))[0]
    assert acquired(part) == [(1, 1, 1)], "the marker is acknowledged as a gap"
