"""ListOffsets in every version: positions, times and the version each special timestamp needs."""

import msgspec
import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from penstock.protocol.records.builder import NewRecord, build_batch
from tests.server.live import Client, Live, TopicHandle, batch, begin_epoch, code, one, versions

VERSIONS = versions(ListOffsetsRequest)
SINCE = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}
START_MS = 1_700_000_000_000


async def list_offset(
    client: Client,
    topic: str,
    timestamp: int,
    version: int = VERSIONS[-1],
    *,
    partition: int = 0,
    epoch: int = -1,
    isolation_level: int = 0,
) -> ListOffsetsPartitionResponse:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
    response = await client.send(
        ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
        ),
        version,
    )
    found: ListOffsetsPartitionResponse = one(one(response.topics).partitions)
    return found


async def filled(client: Client) -> TopicHandle:
    """Ten records, two to a batch, a second apart; the seventh is the newest of all."""
    topic = await client.create_topic()
    times = [START_MS + 1000 * i for i in range(10)]
    times[6] = START_MS + 50_000
    for i in range(0, 10, 2):
        records = [NewRecord(value=str(n).encode(), timestamp=times[n]) for n in (i, i + 1)]
        assert (await client.produce(topic, build_batch(records))).error_code == 0
    return topic


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("timestamp", SINCE)
async def test_special_timestamps_are_answered_in_the_versions_that_have_them(
    client: Client, version: int, timestamp: int
) -> None:
    topic = await filled(client)
    found = await list_offset(client, topic.name, timestamp, version)
    if version < SINCE[timestamp]:
        assert (code(found.error_code), found.offset) == ("UNSUPPORTED_VERSION", -1)
        return
    epoch = 0 if version >= 4 else -1
    expected = {
        -1: (-1, 10, epoch),
        -2: (-1, 0, epoch),
        -3: (START_MS + 50_000, 6, epoch),
        -4: (-1, 0, epoch),
        -5: (-1, -1, -1),
        -6: (-1, -1, -1),
    }
    assert found.error_code == 0
    assert (found.timestamp, found.offset, found.leader_epoch) == expected[timestamp]


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_first_record_at_or_after_a_timestamp_is_found(client: Client, version: int) -> None:
    topic = await filled(client)
    for time, offset, found_time in [
        (0, 0, START_MS),
        (START_MS, 0, START_MS),
        (START_MS + 1, 1, START_MS + 1000),
        (START_MS + 5000, 5, START_MS + 5000),
        (START_MS + 5001, 6, START_MS + 50_000),
        (START_MS + 50_000, 6, START_MS + 50_000),
        (START_MS + 50_001, -1, -1),
    ]:
        found = await list_offset(client, topic.name, time, version)
        assert (found.error_code, found.offset, found.timestamp) == (0, offset, found_time), time
        assert found.leader_epoch == (0 if version >= 4 and offset >= 0 else -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_empty_partition_has_no_record_for_a_timestamp(client: Client, version: int) -> None:
    topic = await client.create_topic()
    epoch = 0 if version >= 4 else -1
    for timestamp in (-1, -2):
        found = await list_offset(client, topic.name, timestamp, version)
        assert (found.error_code, found.offset, found.leader_epoch) == (0, 0, epoch)
    assert (await list_offset(client, topic.name, 5, version)).offset == -1
    if version >= 7:
        found = await list_offset(client, topic.name, -3, version)
        assert (found.error_code, found.offset, found.timestamp) == (0, -1, -1)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_start_moves_with_deleted_records(client: Client, version: int) -> None:
    topic = await filled(client)
    deleted = DeleteRecordsPartition(partition_index=0, offset=3)
    await client.send(
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic.name, partitions=[deleted])])
    )
    assert (await list_offset(client, topic.name, -2, version)).offset == 3
    assert (await list_offset(client, topic.name, 0, version)).offset == 3


@pytest.mark.parametrize("version", VERSIONS)
async def test_unknown_topics_and_partitions_are_errors(client: Client, version: int) -> None:
    topic = await client.create_topic()
    found = await list_offset(client, "no-such-topic", -1, version)
    assert code(found.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert (found.offset, found.timestamp) == (-1, -1)
    found = await list_offset(client, topic.name, -1, version, partition=3)
    assert code(found.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    for timestamp in (-7, -100, -(2**63)):
        found = await list_offset(client, topic.name, timestamp, version)
        assert code(found.error_code) == "UNSUPPORTED_VERSION"
    # The version is judged before the partition is looked for.
    found = await list_offset(client, "no-such-topic", -7, version)
    assert code(found.error_code) == "UNSUPPORTED_VERSION"


@pytest.mark.parametrize("version", range(4, 12))
async def test_a_client_with_the_wrong_leader_epoch_is_refused(
    live: Live, client: Client, version: int
) -> None:
    topic = await client.create_topic()
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    begin_epoch(leader, 3)
    codes = [
        code((await list_offset(client, topic.name, -1, version, epoch=epoch)).error_code)
        for epoch in (-1, 2, 3, 4)
    ]
    assert codes == ["NONE", "FENCED_LEADER_EPOCH", "NONE", "UNKNOWN_LEADER_EPOCH"]
    assert (await list_offset(client, topic.name, -1, version)).leader_epoch == 3


def lead_anew_with_a_follower(leader: Replica, high_watermark: int) -> None:
    """As if elected with a high watermark below the one that the previous leader has returned."""
    state = leader.state
    assert state is not None
    leader.high_watermark = high_watermark
    leader.follow(
        msgspec.structs.replace(state, replicas=(1, 9), isr=(1, 9), leader_epoch=state.leader_epoch + 1)
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_new_leader_returns_no_end_offset_below_one_already_returned(
    live: Live, client: Client, version: int
) -> None:
    topic = await filled(client)
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    lead_anew_with_a_follower(leader, high_watermark=4)
    not_yet = "OFFSET_NOT_AVAILABLE" if version >= 5 else "LEADER_NOT_AVAILABLE"

    async def answer(timestamp: int) -> tuple[str, int]:
        found = await list_offset(client, topic.name, timestamp, version)
        return code(found.error_code), found.offset

    assert await answer(-1) == (not_yet, -1)
    assert await answer(START_MS + 8000) == (not_yet, -1)
    assert await answer(START_MS + 3000) == ("NONE", 3)
    assert await answer(-2) == ("NONE", 0)
    leader.follower_fetched(9, -1, 10)
    assert await answer(-1) == ("NONE", 10)
    assert await answer(START_MS + 8000) == ("NONE", 6)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_partition_named_twice_is_refused(client: Client, version: int) -> None:
    topic = await client.create_topic()
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=t) for t in (-1, -2)]
    response = await client.send(
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=wanted)]),
        version,
    )
    codes = {code(p.error_code) for t in response.topics for p in t.partitions}
    assert codes == {"INVALID_REQUEST"}


@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_without_transactions_read_committed_has_the_same_end(client: Client, version: int) -> None:
    topic = await client.create_topic()
    await client.produce(topic, batch(b"v"))
    assert (await list_offset(client, topic.name, -1, version, isolation_level=1)).offset == 1


async def test_timestamps_are_found_across_many_segments(client: Client) -> None:
    topic = await client.create_topic(configs={"segment.records": "3"})
    for i in range(20):
        await client.produce(topic, batch(b"v", timestamp=START_MS + 10 * i))
    for i in range(20):
        assert (await list_offset(client, topic.name, START_MS + 10 * i - 5)).offset == i
    assert (await list_offset(client, topic.name, -3)).offset == 19
