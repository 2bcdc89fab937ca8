"""OffsetForLeaderEpoch in every version, against a live broker."""

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.server.live import Client, Live, TopicHandle, batch, begin_epoch, code, one, versions

VERSIONS = versions(OffsetForLeaderEpochRequest)


async def end_of(
    client: Client, topic: str, epoch: int, version: int, *, current: int = -1, partition: int = 0
) -> EpochEndOffset:
    wanted = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[wanted])])
    found: EpochEndOffset = one(one((await client.send(request, version)).topics).partitions)
    return found


async def with_epochs(live: Live, client: Client) -> TopicHandle:
    """Offsets 0-1 were written in epoch 0, 2-4 in epoch 3, and nothing yet in epoch 5."""
    topic = await client.create_topic()
    leader = live.services.replicas.leader_of(topic.name, 0)
    assert isinstance(leader, Replica)
    await client.produce(topic, batch(b"0", b"1"))
    begin_epoch(leader, 3)
    await client.produce(topic, batch(b"2", b"3", b"4"))
    begin_epoch(leader, 5)
    return topic


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_end_offset_of_an_epoch_is_returned(live: Live, client: Client, version: int) -> None:
    topic = await with_epochs(live, client)
    for epoch, expected in [
        (0, (0, 2)),
        (1, (0, 2)),
        (3, (3, 5)),
        (4, (3, 5)),
        (5, (5, 5)),
        (6, (-1, -1)),
        (-1, (-1, -1)),
    ]:
        found = await end_of(client, topic.name, epoch, version)
        assert (found.error_code, found.leader_epoch, found.end_offset) == (0, *expected), epoch


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_epoch_of_an_empty_log_is_known(client: Client, version: int) -> None:
    topic = await client.create_topic()
    found = await end_of(client, topic.name, 0, version)
    assert (found.error_code, found.leader_epoch, found.end_offset) == (0, 0, 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_unknown_partitions_and_wrong_epochs_are_refused(
    live: Live, client: Client, version: int
) -> None:
    topic = await with_epochs(live, client)
    for name, partition, current, expected in [
        ("no-such-topic", 0, -1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 4, -1, "UNKNOWN_TOPIC_OR_PARTITION"),
        (topic.name, 0, 4, "FENCED_LEADER_EPOCH"),
        (topic.name, 0, 6, "UNKNOWN_LEADER_EPOCH"),
        (topic.name, 0, 5, "NONE"),
    ]:
        found = await end_of(client, name, 0, version, current=current, partition=partition)
        assert code(found.error_code) == expected
        assert (found.partition, found.end_offset) == (partition, 2 if expected == "NONE" else -1)
