"""Forged quorum requests to a live broker: nothing is persisted, and the broker works after a restart.

Authorization of such requests is tested elsewhere; here the state machine has to refuse them.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.cluster.metadata.topic_names import METADATA_TOPIC_ID
from penstock.protocol.messages import begin_quorum_epoch, end_quorum_epoch, fetch, vote
from penstock.protocol.messages.metadata import MetadataRequest
from tests.server.live import Client, batch, running_broker, within

LAST = 2**31 - 1
STRANGER = 66
TOPIC = "__cluster_metadata"


def forged_vote(cluster_id: str | None, epoch: int, _port: int) -> vote.VoteRequest:
    partition = vote.RequestPartitionData(
        replica_epoch=epoch,
        replica_id=STRANGER,
        replica_directory_id=b"x" * 16,
        last_offset_epoch=epoch - 1,
        last_offset=2**62,
    )
    return vote.VoteRequest(
        cluster_id=cluster_id, topics=[vote.RequestTopicData(topic_name=TOPIC, partitions=[partition])]
    )


def forged_begin(cluster_id: str | None, epoch: int, port: int) -> begin_quorum_epoch.BeginQuorumEpochRequest:
    partition = begin_quorum_epoch.RequestPartitionData(leader_id=STRANGER, leader_epoch=epoch)
    return begin_quorum_epoch.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[begin_quorum_epoch.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[begin_quorum_epoch.LeaderEndpoint(name="PLAINTEXT", host="127.0.0.1", port=port)],
    )


def forged_end(cluster_id: str | None, epoch: int, _port: int) -> end_quorum_epoch.EndQuorumEpochRequest:
    partition = end_quorum_epoch.RequestPartitionData(leader_id=STRANGER, leader_epoch=epoch)
    return end_quorum_epoch.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[end_quorum_epoch.RequestTopicData(topic_name=TOPIC, partitions=[partition])],
    )


def forged_fetch(cluster_id: str | None, epoch: int, _port: int) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(current_leader_epoch=epoch, fetch_offset=0, last_fetched_epoch=0)
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(replica_id=STRANGER),
        topics=[fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def error_of(response: Any) -> int:
    if response.error_code:
        return int(response.error_code)
    topics = response.responses if hasattr(response, "responses") else response.topics
    return int(topics[0].partitions[0].error_code)


async def works(client: Client) -> None:
    """The metadata can be changed, and records are stored."""
    topic = await client.create_topic()
    assert (await client.produce(topic, batch(b"value"))).error_code == 0


@pytest.mark.parametrize("epoch", [2, LAST])
@pytest.mark.parametrize("is_cluster_named", [True, False])
@pytest.mark.parametrize("forge", [forged_vote, forged_begin, forged_end, forged_fetch])
def test_a_forged_request_is_refused_and_a_restarted_node_leads_again(
    tmp_path: Path, forge: Any, is_cluster_named: bool, epoch: int
) -> None:
    connections: list[object] = []

    async def scenario() -> None:
        attacker = await asyncio.start_server(lambda *peer: connections.append(peer), "127.0.0.1", 0)
        port = attacker.sockets[0].getsockname()[1]
        state = tmp_path / "__cluster_metadata-0" / "quorum-state"
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            await works(client)
            before = state.read_bytes()
            cluster_id = (await client.send(MetadataRequest(topics=[]))).cluster_id
            response = await client.send(forge(cluster_id if is_cluster_named else None, epoch, port))
            assert error_of(response) != 0
            assert state.read_bytes() == before
            await works(client)
            await client.close()
        async with running_broker(tmp_path) as live:
            client = await live.connect()
            await works(client)
            await client.close()
        attacker.close()

    asyncio.run(within(60, scenario()))
    assert connections == []
