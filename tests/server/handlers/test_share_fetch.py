"""ShareFetch: sessions, what is acquired, what an answer carries, and whom it refuses."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.protocol.compression import Codec
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from penstock.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.server.handlers.share_support import (
    ACCEPT,
    FOREVER_MS,
    REJECT,
    RELEASE,
    Member,
    acquired,
    led,
    offsets_in,
    partitions_of,
    prepared,
)
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    code,
    running_broker,
    until,
    values_in,
    versions,
)
from tests.server.test_quotas import quota

VERSIONS = versions(ShareFetchRequest)
UNKNOWN = TopicHandle("no-such-topic", b"\x07" * 16)


async def filled(client: Client, *sizes: int, codec: Codec = Codec.NONE, partitions: int = 1) -> TopicHandle:
    """A topic with batches of these numbers of records in partition 0."""
    topic = await client.create_topic(partitions=partitions)
    for size in sizes:
        await client.produce(topic, batch(*[b"v"] * size, codec=codec))
    return topic


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_are_locked_for_the_member_that_gets_them(
    live: Live, client: Client, version: int
) -> None:
    topic = await filled(client, 2, 1)
    member = Member(client, await prepared(live, topic), topic)
    response = await member.fetch(max_wait_ms=FOREVER_MS, version=version)
    data = partitions_of(response)[0]
    assert (acquired(data), offsets_in(data)) == ([(0, 2, 1)], [0, 1, 2])
    assert response.acquisition_lock_timeout_ms == 30_000
    other = Member(client, member.group_id, topic)
    assert acquired(partitions_of(await other.fetch(version=version))[0]) == []


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
async def test_records_are_returned_unchanged(live: Live, client: Client, codec: Codec) -> None:
    topic = await client.create_topic(configs={"compression.type": codec.name.lower()} if codec else None)
    await client.produce(topic, batch(b"one", b"two", codec=codec))
    member = Member(client, await prepared(live, topic), topic)
    assert values_in(await member.take()) == [b"one", b"two"]


async def test_groups_are_independent_of_each_other(live: Live, client: Client) -> None:
    topic = await filled(client, 3)
    for _ in range(2):
        member = Member(client, await prepared(live, topic), topic)
        assert acquired(await member.take()) == [(0, 2, 1)]


async def test_accepted_records_are_not_redelivered_and_the_others_are(live: Live, client: Client) -> None:
    topic = await filled(client, 4)
    member = Member(client, await prepared(live, topic), topic)
    await member.take()
    data = await member.take(acks={0: [(0, 0, [ACCEPT]), (1, 2, [RELEASE]), (3, 3, [REJECT])]})
    assert (data.acknowledge_error_code, acquired(data)) == (0, [(1, 2, 2)])
    assert offsets_in(data) == [0, 1, 2, 3]  # batches go out whole


async def test_acknowledgements_survive_a_restart(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await filled(client, 5)
        member = Member(client, await prepared(live, topic), topic)
        await member.take()
        assert await member.done_with(0, 1) == 0
        assert await member.done_with(3, 3) == 0
        await client.close()
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        again = Member(client, member.group_id, topic)
        assert acquired(await again.take()) == [(2, 2, 2), (4, 4, 2)]
        await client.close()


async def test_only_batches_with_acquired_records_are_sent(live: Live, client: Client) -> None:
    topic = await filled(client, 2, 2, 2, 2)
    member = Member(client, await prepared(live, topic, start_offset=2), topic)
    data = await member.take(max_records=3)
    assert (acquired(data), offsets_in(data)) == ([(2, 5, 1)], [2, 3, 4, 5])
    data = await member.take(max_records=1)
    assert (acquired(data), offsets_in(data)) == ([(6, 7, 1)], [6, 7])


async def test_the_strict_record_limit_is_exact(live: Live, client: Client) -> None:
    topic = await filled(client, 10)
    member = Member(client, await prepared(live, topic), topic)
    data = await member.take(max_records=3, share_acquire_mode=1)
    assert acquired(data) == [(0, 2, 1)]
    data = await member.take(max_records=4, share_acquire_mode=1)
    assert acquired(data) == [(3, 6, 1)]


async def test_acquired_records_are_listed_in_batches_of_the_requested_size(
    live: Live, client: Client
) -> None:
    topic = await filled(client, 2, 2, 2, 2)
    member = Member(client, await prepared(live, topic), topic)
    assert acquired(await member.take(batch_size=4)) == [(0, 3, 1), (4, 7, 1)]


async def test_an_unknown_acquire_mode_is_refused(live: Live, client: Client) -> None:
    topic = await filled(client, 1)
    member = Member(client, await prepared(live, topic), topic)
    assert code((await member.fetch(share_acquire_mode=2)).error_code) == "INVALID_REQUEST"


@pytest.mark.parametrize("nothing", ["max_records", "max_bytes"])
async def test_a_fetch_without_records_returns_at_once(live: Live, client: Client, nothing: str) -> None:
    topic = await filled(client, 1)
    member = Member(client, await prepared(live, topic), topic)
    limits: dict[str, Any] = {"max_wait_ms": FOREVER_MS, nothing: 0}
    assert partitions_of(await member.fetch(**limits)) == {}


async def test_a_batch_larger_than_the_limit_is_returned_whole(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v" * 5000))
    member = Member(client, await prepared(live, topic), topic)
    assert acquired(await member.take(max_bytes=100)) == [(0, 0, 1)]


async def test_partitions_take_turns_to_return_records(live: Live, client: Client) -> None:
    topic = await client.create_topic(partitions=3)
    for partition in range(3):
        for _ in range(3):
            await client.produce(topic, batch(b"v" * 1000), partition=partition)
    member = Member(client, await prepared(live, topic, 3), topic)
    served = []
    for epoch in range(6):
        wanted = (0, 1, 2) if epoch == 0 else ()
        answer = partitions_of(await member.fetch(wanted, max_wait_ms=FOREVER_MS, max_bytes=1))
        served += [number for number, data in answer.items() if data.records]
    assert served[:3] == served[3:]
    assert sorted(served) == [0, 0, 1, 1, 2, 2]


# -- sessions


async def test_an_incremental_response_has_only_changed_partitions(live: Live, client: Client) -> None:
    topic = await filled(client, 1, partitions=3)
    member = Member(client, await prepared(live, topic, 3), topic)
    assert set(partitions_of(await member.fetch((0, 1), max_wait_ms=FOREVER_MS))) >= {0}
    assert partitions_of(await member.fetch()) == {}
    await client.produce(topic, batch(b"new"), partition=1)
    assert set(partitions_of(await member.fetch(max_wait_ms=FOREVER_MS))) == {1}
    assert set(partitions_of(await member.fetch((2,), max_wait_ms=50))) == {2}
    assert partitions_of(await member.fetch()) == {}


async def test_a_removed_partition_is_not_fetched_but_can_be_acknowledged(live: Live, client: Client) -> None:
    topic = await filled(client, 1, partitions=2)
    member = Member(client, await prepared(live, topic, 2), topic)
    await member.fetch((0, 1), max_wait_ms=FOREVER_MS)
    await client.produce(topic, batch(b"new"))
    answer = partitions_of(await member.fetch(acks={0: [(0, 0, [ACCEPT])]}, forget=[0]))
    assert {number: (data.acknowledge_error_code, acquired(data)) for number, data in answer.items()} == {
        0: (0, [])
    }
    assert partitions_of(await member.fetch()) == {}


async def test_a_wrong_session_epoch_is_refused(live: Live, client: Client) -> None:
    topic = await filled(client, 1)
    member = Member(client, await prepared(live, topic), topic)
    assert code((await member.fetch(share_session_epoch=1)).error_code) == "SHARE_SESSION_NOT_FOUND"
    assert code((await member.fetch(share_session_epoch=-1)).error_code) == "SHARE_SESSION_NOT_FOUND"
    await member.fetch((0,), share_session_epoch=0)
    refused = await member.fetch(share_session_epoch=2)
    assert code(refused.error_code) == "INVALID_SHARE_SESSION_EPOCH"
    assert (refused.responses, refused.acquisition_lock_timeout_ms) == ([], 0)
    assert (await member.fetch(share_session_epoch=1)).error_code == 0


async def test_the_final_fetch_accepts_acknowledgements_and_releases_the_rest(
    live: Live, client: Client
) -> None:
    topic = await filled(client, 3)
    member = Member(client, await prepared(live, topic), topic)
    await member.take()
    answer = await member.fetch(acks={0: [(1, 1, [ACCEPT])]}, share_session_epoch=-1)
    assert partitions_of(answer)[0].acknowledge_error_code == 0
    assert code((await member.fetch(share_session_epoch=2)).error_code) == "SHARE_SESSION_NOT_FOUND"
    other = Member(client, member.group_id, topic)
    assert acquired(await other.take()) == [(0, 0, 2), (2, 2, 2)]


async def test_a_new_session_cannot_carry_acknowledgements(live: Live, client: Client) -> None:
    topic = await filled(client, 1)
    member = Member(client, await prepared(live, topic), topic)
    answer = await member.fetch(acks={0: [(0, 0, [ACCEPT])]})
    assert code(answer.error_code) == "INVALID_REQUEST"


async def test_the_records_of_a_client_are_released_when_it_disconnects(live: Live, client: Client) -> None:
    topic = await filled(client, 2)
    group_id = await prepared(live, topic)
    short_lived = await live.connect()
    await Member(short_lived, group_id, topic).take()
    waiting = asyncio.ensure_future(Member(client, group_id, topic).take())
    await short_lived.close()
    assert acquired(await waiting) == [(0, 1, 2)]


async def test_the_share_partitions_of_a_group_without_connections_end(live: Live, client: Client) -> None:
    topic = await filled(client, 2)
    group_id = await prepared(live, topic)
    short_lived = await live.connect()
    await Member(short_lived, group_id, topic).take()
    partition = led(live, group_id, topic)
    await short_lived.close()
    await until(lambda: partition.failure)
    assert acquired(await Member(client, group_id, topic).take()) == [(0, 1, 2)]
    assert led(live, group_id, topic) is not partition


async def test_the_number_of_sessions_is_limited(tmp_path: Path) -> None:
    settings = {"group.share.max.share.sessions": "1", "group.share.max.size": "1"}
    async with running_broker(tmp_path, settings) as live:
        client = await live.connect()
        topic = await filled(client, 1)
        group_id = await prepared(live, topic)
        first, second = Member(client, group_id, topic), Member(client, group_id, topic)
        assert (await first.fetch()).error_code == 0
        refused = await second.fetch(max_wait_ms=20)
        assert code(refused.error_code) == "SHARE_SESSION_LIMIT_REACHED"
        await first.fetch(share_session_epoch=-1)
        assert (await second.fetch(share_session_epoch=0)).error_code == 0
        await client.close()


# -- whom it refuses, and where there is nothing


@pytest.mark.parametrize(
    "fields", [{"group_id": None}, {"member_id": None}, {"member_id": ""}, {"member_id": "m" * 37}]
)
async def test_a_request_without_a_valid_member_is_refused(client: Client, fields: dict[str, Any]) -> None:
    request = ShareFetchRequest(**{"group_id": "g", "member_id": "m", **fields})
    assert code((await client.send(request)).error_code) == "INVALID_REQUEST"


async def test_unknown_topics_and_partitions_are_errors_at_once(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    request = ShareFetchRequest(
        group_id=await prepared(live, topic),
        member_id="m",
        max_wait_ms=FOREVER_MS,
        max_records=1,
        topics=[
            FetchTopic(topic_id=UNKNOWN.id, partitions=[FetchPartition(partition_index=0)]),
            FetchTopic(topic_id=topic.id, partitions=[FetchPartition(partition_index=1)]),
        ],
    )
    response = await client.send(request)
    assert {t.topic_id: code(t.partitions[0].error_code) for t in response.responses} == {
        UNKNOWN.id: "UNKNOWN_TOPIC_ID",
        topic.id: "UNKNOWN_TOPIC_OR_PARTITION",
    }


async def test_an_answer_names_no_leader_unless_another_broker_leads(live: Live, client: Client) -> None:
    topic = await filled(client, 1)
    member = Member(client, await prepared(live, topic), topic)
    good = await member.take()
    unknown = partitions_of(await member.fetch([1]))[1]
    assert (code(good.error_code), code(unknown.error_code)) == ("NONE", "UNKNOWN_TOPIC_OR_PARTITION")
    for part in (good, unknown):
        assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (-1, -1)


async def test_an_uninitialized_group_is_an_error_after_the_wait_time(client: Client) -> None:
    topic = await filled(client, 1)
    answer = await Member(client, "unprepared", topic).fetch(max_wait_ms=20)
    assert code(partitions_of(answer)[0].error_code) == "UNKNOWN_SERVER_ERROR"


async def test_a_topic_that_is_deleted_ends_the_wait(live: Live, client: Client) -> None:
    topic = await client.create_topic()
    member = Member(client, await prepared(live, topic), topic)
    await member.fetch()
    waiting = asyncio.ensure_future(member.take())
    admin = await live.connect()
    await admin.send(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic.name)], timeout_ms=5000))
    assert code((await waiting).error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    answer = await member.fetch()
    assert code(partitions_of(answer)[0].error_code) == "UNKNOWN_TOPIC_ID"
    again = await admin.create_topic(name=topic.name)
    await admin.produce(again, batch(b"new"))
    fresh = Member(client, await prepared(live, again), again)
    assert values_in(await fresh.take()) == [b"new"]
    await admin.close()


async def test_deleted_records_are_skipped(live: Live, client: Client) -> None:
    topic = await filled(client, 2, 2)
    member = Member(client, await prepared(live, topic), topic)
    await client.send(
        DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=topic.name, partitions=[DeleteRecordsPartition(partition_index=0, offset=3)]
                )
            ],
            timeout_ms=5000,
        )
    )
    answer = await member.fetch(max_wait_ms=FOREVER_MS)
    assert acquired(partitions_of(answer)[0]) == []
    assert acquired(await member.take()) == [(3, 3, 1)]


async def test_a_request_that_renews_fetches_nothing(live: Live, client: Client) -> None:
    topic = await filled(client, 2)
    member = Member(client, await prepared(live, topic), topic)
    await member.take()
    nothing: dict[str, Any] = {
        "max_records": 0,
        "max_bytes": 0,
        "min_bytes": 0,
        "max_wait_ms": 0,
        "is_renew_ack": True,
    }
    renewed = await member.fetch(acks={0: [(0, 1, [4])]}, **nothing)
    assert partitions_of(renewed)[0].acknowledge_error_code == 0
    for each in ("max_records", "max_bytes", "min_bytes", "max_wait_ms"):
        refused = await member.fetch(**{**nothing, each: 1}, share_session_epoch=member.epoch)
        assert code(refused.error_code) == "INVALID_REQUEST"


async def test_a_client_over_its_quota_acquires_no_records(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live, quota(live, "consumer_byte_rate", 1000):
        client, reader = await live.connect(), await live.connect()
        topic = await client.create_topic()
        for _ in range(2):
            await client.produce(topic, batch(b"x" * 11_000))
        member = Member(reader, await prepared(live, topic), topic)
        assert acquired(await member.take(max_bytes=1)) == [(0, 0, 1)]  # a burst is let through, and counted
        throttled = await member.fetch(max_wait_ms=FOREVER_MS)
        assert (throttled.responses, throttled.throttle_time_ms > 0) == ([], True)
        state = led(live, member.group_id, topic).state
        assert state is not None
        assert state.next_fetch_offset == 1
        await client.close()
        await reader.close()


async def test_share_groups_can_be_disabled(tmp_path: Path) -> None:
    async with running_broker(tmp_path) as live:
        client = await live.connect()
        topic = await filled(client, 1)
        member = Member(client, await prepared(live, topic), topic)
        await member.take()
        off = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=3)
        assert (await client.send(UpdateFeaturesRequest(feature_updates=[off]))).error_code == 0
        assert code((await member.fetch()).error_code) == "UNSUPPORTED_VERSION"
        refused = await member.acknowledge({0: [(0, 0, [ACCEPT])]})
        assert code(refused.error_code) == "UNSUPPORTED_VERSION"
        shares = live.services.shares
        assert (len(shares.sessions), len(shares.partitions)) == (0, 0)
        await client.close()
