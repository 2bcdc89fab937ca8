"""Fetch in every version: offsets, limits, isolation, epochs, against a live broker."""

from pathlib import Path

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.compression import Codec
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from tests.server.live import (
    Client,
    Live,
    TopicHandle,
    batch,
    begin_epoch,
    code,
    fetch_request,
    fetch_topic,
    one,
    records_in,
    running_broker,
    values_in,
    versions,
)

VERSIONS = versions(FetchRequest)
UNKNOWN = TopicHandle("no-such-topic", b"\x09" * 16)
ONE = len(batch(b"0"))


def leader_of(live: Live, topic: TopicHandle) -> Replica:
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    return leader


async def filled(client: Client, *batches: bytes, partitions: int = 1) -> TopicHandle:
    topic = await client.create_topic(partitions=partitions)
    for records in batches or [batch(str(i).encode()) for i in range(5)]:
        assert (await client.produce(topic, records)).error_code == 0
    return topic


async def fetch_several(
    client: Client,
    wanted: list[tuple[TopicHandle, int, int]],
    version: int = VERSIONS[-1],
    *,
    max_bytes: int = 1 << 20,
    max_wait_ms: int = 0,
) -> list[tuple[str | bytes, int, str, list[bytes | None]]]:
    """Fetch from several partitions, given with their offsets; gives topic, partition, error, values of each."""
    topics = [
        fetch_topic(
            t, version, {p: FetchPartition(partition=p, fetch_offset=offset, partition_max_bytes=1 << 20)}
        )
        for t, p, offset in wanted
    ]
    response: FetchResponse = await client.send(
        fetch_request(topics, max_bytes=max_bytes, max_wait_ms=max_wait_ms), version
    )
    return [
        (t.topic_id if version >= 13 else t.topic, p.partition_index, code(p.error_code), values_in(p))
        for t in response.responses
        for p in t.partitions
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_are_read_from_an_offset_on(client: Client, version: int) -> None:
    topic = await filled(client)
    for offset in range(6):
        data = await client.fetch(topic, offset, version=version)
        assert (data.error_code, data.high_watermark, data.last_stable_offset) == (0, 5, 5)
        assert data.log_start_offset == (0 if version >= 5 else -1)
        assert [r.offset for r in records_in(data)] == list(range(offset, 5))
        assert data.preferred_read_replica == -1
        assert data.aborted_transactions is None


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_fetch_from_the_middle_of_a_batch_returns_the_whole_batch(
    client: Client, version: int
) -> None:
    topic = await filled(client, batch(b"0"), batch(b"1", b"2", b"3"), batch(b"4"))
    data = await client.fetch(topic, 2, version=version)
    assert [r.offset for r in records_in(data)] == [1, 2, 3, 4]


@pytest.mark.parametrize("version", VERSIONS)
async def test_offsets_outside_of_the_log_are_out_of_range(client: Client, version: int) -> None:
    topic = await filled(client)
    deleted = DeleteRecordsPartition(partition_index=0, offset=2)
    await client.send(
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic.name, partitions=[deleted])])
    )
    for offset in (-1, 0, 1, 6, 2**62):
        data = await client.fetch(topic, offset, version=version)
        assert code(data.error_code) == "OFFSET_OUT_OF_RANGE"
        assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)
        assert not data.records
    assert values_in(await client.fetch(topic, 2, version=version)) == [b"2", b"3", b"4"]
    assert (await client.fetch(topic, 2, version=version)).log_start_offset == (2 if version >= 5 else -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_unknown_topics_and_partitions_do_not_affect_the_others(client: Client, version: int) -> None:
    topic = await filled(client)
    answers = await fetch_several(client, [(UNKNOWN, 0, 0), (topic, 9, 0), (topic, 0, 4)], version)
    unknown = "UNKNOWN_TOPIC_ID" if version >= 13 else "UNKNOWN_TOPIC_OR_PARTITION"
    name = topic.id if version >= 13 else topic.name
    assert answers == [
        (UNKNOWN.id if version >= 13 else UNKNOWN.name, 0, unknown, []),
        (name, 9, "UNKNOWN_TOPIC_OR_PARTITION", []),
        (name, 0, "NONE", [b"4"]),
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_limits_apply_between_batches_and_the_first_batch_is_always_whole(
    client: Client, version: int
) -> None:
    topic = await filled(client)
    for limit, count in [(-1, 1), (0, 1), (1, 1), (ONE, 1), (2 * ONE - 1, 1), (2 * ONE, 2), (5 * ONE, 5)]:
        data = await client.fetch(topic, version=version, partition_max_bytes=limit)
        assert len(records_in(data)) == count, limit
        data = await client.fetch(topic, version=version, max_bytes=limit)
        assert len(records_in(data)) == count, limit


async def test_only_the_first_partition_with_records_may_exceed_the_limit(client: Client) -> None:
    empty, first, second = await client.create_topic(), await filled(client), await filled(client)
    answers = await fetch_several(client, [(empty, 0, 0), (first, 0, 0), (second, 0, 0)], max_bytes=1)
    assert [values for *_, values in answers] == [[], [b"0"], []]
    answers = await fetch_several(client, [(second, 0, 0), (first, 0, 0)], max_bytes=ONE * 7)
    assert [len(values) for *_, values in answers] == [5, 2]


async def test_the_broker_has_a_limit_of_its_own(tmp_path: Path) -> None:
    async with running_broker(tmp_path, {"fetch.max.bytes": "1024"}) as live:
        client = await live.connect()
        topic = await filled(client, *[batch(b"v" * 400) for _ in range(5)])
        assert len(records_in(await client.fetch(topic))) == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_both_isolation_levels_return_the_same_without_transactions(
    client: Client, version: int
) -> None:
    topic = await filled(client)
    data = await client.fetch(topic, version=version, isolation_level=1)
    assert (len(records_in(data)), data.aborted_transactions) == (5, [])


@pytest.mark.parametrize("version", range(9, 19))
async def test_a_client_with_the_wrong_leader_epoch_is_refused(
    live: Live, client: Client, version: int
) -> None:
    topic = await filled(client)
    begin_epoch(leader_of(live, topic), 3)
    assert (await client.fetch(topic, version=version, current_leader_epoch=3)).error_code == 0
    assert (await client.fetch(topic, version=version, current_leader_epoch=-1)).error_code == 0
    data = await client.fetch(topic, version=version, current_leader_epoch=4)
    assert code(data.error_code) == "UNKNOWN_LEADER_EPOCH"
    data = await client.fetch(topic, version=version, current_leader_epoch=2)
    assert code(data.error_code) == "FENCED_LEADER_EPOCH"
    assert data.current_leader.leader_id == (1 if version >= 16 else -1)


async def test_a_fenced_client_gets_the_current_leader(live: Live, client: Client) -> None:
    topic = await filled(client)
    begin_epoch(leader_of(live, topic), 3)
    wanted = FetchPartition(partition=0, current_leader_epoch=2)
    response = await client.send(fetch_request([fetch_topic(topic, 18, {0: wanted})]))
    node = one(response.node_endpoints)
    assert (node.node_id, node.host, node.port) == (1, live.host, live.port)


@pytest.mark.parametrize("version", range(12, 19))
async def test_a_client_with_a_diverging_log_gets_the_diverging_epoch(
    live: Live, client: Client, version: int
) -> None:
    """Offsets 0-4 were written in epoch 0, 5-9 in epoch 3."""
    topic = await filled(client)
    begin_epoch(leader_of(live, topic), 3)
    for i in range(5, 10):
        await client.produce(topic, batch(str(i).encode()))

    async def fetched(offset: int, last_epoch: int) -> tuple[str, int, int, int]:
        data = await client.fetch(topic, offset, version=version, last_fetched_epoch=last_epoch)
        diverging = data.diverging_epoch
        return code(data.error_code), diverging.epoch, diverging.end_offset, len(records_in(data))

    assert await fetched(5, 0) == ("NONE", -1, -1, 5)
    assert await fetched(10, 3) == ("NONE", -1, -1, 0)
    assert await fetched(7, 0) == ("NONE", 0, 5, 0)
    assert await fetched(7, 2) == ("NONE", 0, 5, 0)
    assert await fetched(12, 3) == ("NONE", 3, 10, 0)
    assert await fetched(7, 4) == ("OFFSET_OUT_OF_RANGE", -1, -1, 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_versions_without_zstd_get_unsupported_compression_type(client: Client, version: int) -> None:
    topic = await client.create_topic(configs={"compression.type": "zstd"})
    await client.produce(topic, batch(b"v", codec=Codec.ZSTD))
    data = await client.fetch(topic, version=version)
    assert code(data.error_code) == ("UNSUPPORTED_COMPRESSION_TYPE" if version < 10 else "NONE")


@pytest.mark.parametrize("version", VERSIONS)
async def test_old_versions_get_no_storage_error(
    live: Live, client: Client, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = await filled(client)

    def broken(*_args: object, **_kwargs: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("penstock.storage.files.RealFile.read_cached", broken)
    data = await client.fetch(topic, version=version)
    assert code(data.error_code) == ("NOT_LEADER_OR_FOLLOWER" if version <= 5 else "KAFKA_STORAGE_ERROR")


async def test_records_that_are_only_on_disk_are_returned_in_order(
    live: Live, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those in memory must not use up the limit before the one that has to wait."""
    cold, warm = await filled(client), await filled(client)
    cold_log = leader_of(live, cold).log
    read = type(cold_log).read

    def not_cached(log: object, *args: object, **kwargs: object) -> object:
        from penstock.storage.log.values import COLD

        return COLD if log is cold_log else read(log, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(type(cold_log), "read", not_cached)
    answers = await fetch_several(client, [(warm, 0, 4), (cold, 0, 0), (warm, 0, 0)], max_bytes=4 * ONE)
    assert [len(values) for *_, values in answers] == [1, 3, 0]


async def test_many_partitions_are_read_in_one_fetch(client: Client) -> None:
    topic = await client.create_topic(partitions=50)
    for p in range(50):
        await client.produce(topic, batch(str(p).encode()), partition=p)
    wanted = {p: FetchPartition(partition=p, partition_max_bytes=1 << 20) for p in range(50)}
    response = await client.send(fetch_request([fetch_topic(topic, 18, wanted)]))
    parts = one(response.responses).partitions
    assert [(p.partition_index, values_in(p)) for p in parts] == [(p, [str(p).encode()]) for p in range(50)]
