"""Requests of clients about the metadata quorum, in every version, against a live broker."""

import pytest

from penstock.cluster.metadata.topic_names import METADATA_TOPIC_ID
from penstock.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from penstock.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from penstock.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.server.live import Client, Live, code, one, versions

METADATA = "__cluster_metadata"
HAS_IDS_FROM = 13
HAS_EPOCHS_FROM = 12


def fetch_of_metadata(version: int) -> FetchTopic:
    partition = (
        FetchPartition(current_leader_epoch=1, last_fetched_epoch=0)
        if version >= HAS_EPOCHS_FROM
        else FetchPartition()
    )
    if version >= HAS_IDS_FROM:
        return FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return FetchTopic(topic=METADATA, partitions=[partition])


@pytest.mark.parametrize("version", versions(DescribeQuorumRequest))
async def test_the_quorum_is_described_in_every_version(live: Live, client: Client, version: int) -> None:
    wanted = RequestTopicData(topic_name=METADATA, partitions=[RequestPartitionData(partition_index=0)])
    response = await client.send(DescribeQuorumRequest(topics=[wanted]), version)
    partition = one(one(response.topics).partitions)
    assert partition.leader_id == live.services.node_id
    assert [voter.replica_id for voter in partition.current_voters] == [live.services.node_id]


@pytest.mark.parametrize("version", versions(DescribeQuorumRequest))
@pytest.mark.parametrize(("topic", "number"), [("other", 0), (METADATA, 1)])
async def test_a_quorum_of_another_topic_is_unknown(
    client: Client, version: int, topic: str, number: int
) -> None:
    other = RequestTopicData(topic_name=topic, partitions=[RequestPartitionData(partition_index=number)])
    response = await client.send(DescribeQuorumRequest(topics=[other]), version)
    assert response.error_code == 0
    partition = one(one(response.topics).partitions)
    assert (partition.partition_index, code(partition.error_code)) == (number, "UNKNOWN_TOPIC_OR_PARTITION")


@pytest.mark.parametrize("version", versions(FetchRequest))
async def test_the_metadata_log_is_read_by_its_id_and_unknown_by_its_name(
    other_broker: Client, version: int
) -> None:
    request = FetchRequest(max_wait_ms=0, max_bytes=100_000, topics=[fetch_of_metadata(version)])
    partition = one(one((await other_broker.send(request, version)).responses).partitions)
    is_by_id = version >= HAS_IDS_FROM
    assert code(partition.error_code) == ("NONE" if is_by_id else "UNKNOWN_TOPIC_OR_PARTITION")
    assert bool(partition.records) == is_by_id


async def test_the_metadata_log_is_not_read_together_with_other_topics(other_broker: Client) -> None:
    topic = await other_broker.create_topic()
    other = FetchTopic(topic_id=topic.id, partitions=[FetchPartition()])
    request = FetchRequest(max_wait_ms=0, topics=[fetch_of_metadata(HAS_IDS_FROM), other])
    assert code((await other_broker.send(request)).error_code) == "INVALID_REQUEST"


@pytest.mark.parametrize("voter_id", [1, 77])
async def test_a_voter_cannot_be_added_at_an_address_that_no_broker_has(
    live: Live, client: Client, voter_id: int
) -> None:
    """The leader would connect there, and somebody could pass its proof on."""
    elsewhere = Listener(name="PLAINTEXT", host="127.0.0.1", port=1)
    request = AddRaftVoterRequest(
        cluster_id=None, voter_id=voter_id, voter_directory_id=bytes(range(16)), listeners=[elsewhere]
    )
    answer = await client.send(request)
    assert code(answer.error_code) == "INVALID_REQUEST"
    assert "registered" in answer.error_message
    assert live.services.quorum.driver.node.voters.ids == (live.services.node_id,)
