"""Share groups when partitions are led elsewhere, and when their leader goes: nothing is lost, nothing comes twice."""

import asyncio
import base64

from penstock.client.connection import Connection
from penstock.embedded.cluster import Cluster
from penstock.protocol.messages import initialize_share_group_state as initialize
from penstock.protocol.messages.find_coordinator import FindCoordinatorRequest
from penstock.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from penstock.protocol.messages.share_fetch import PartitionData, ShareFetchResponse
from tests.server.handlers.share_support import FOREVER_MS, Member, acquired
from tests.server.live import Client, TopicHandle, batch, code, member_of, one

GROUP = "crew"
SETTINGS = {
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 3,
}
_SHARE = 2  # FindCoordinator's key type


async def open_to(cluster: Cluster, node: int) -> Client:
    return Client(await Connection.open(cluster.nodes[node].host, cluster.nodes[node].port))


async def topic_of(client: Client) -> TopicHandle:
    answer = await client.send(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
    return TopicHandle("orders", answer.topics[0].topic_id)


async def prepare(cluster: Cluster, client: Client, topic: TopicHandle) -> None:
    """As the group's coordinator does."""
    partition = initialize.PartitionData(partition=0, state_epoch=1, start_offset=0)
    state = initialize.InitializeStateData(topic_id=topic.id, partitions=[partition])
    async with asyncio.timeout(30):
        while True:
            key = f"{GROUP}:{uuid_text(topic.id)}:0"
            found = await client.send(FindCoordinatorRequest(key_type=_SHARE, coordinator_keys=[key]))
            if found.coordinators[0].error_code == 0:
                home = await member_of(cluster.nodes[found.coordinators[0].node_id])
                answer = await home.send(
                    initialize.InitializeShareGroupStateRequest(group_id=GROUP, topics=[state])
                )
                await home.close()
                if answer.results[0].partitions[0].error_code == 0:
                    return
            await asyncio.sleep(0.005)


def uuid_text(topic_id: bytes) -> str:
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def part(response: ShareFetchResponse) -> PartitionData:
    return one([p for t in response.responses for p in t.partitions])


async def take(cluster: Cluster, topic: TopicHandle) -> tuple[Member, PartitionData]:
    """Fetch from the present leader until it returns records."""
    async with asyncio.timeout(30):
        while True:
            member = Member(await open_to(cluster, cluster.leader("orders")), GROUP, topic)
            answer = await member.fetch(max_wait_ms=500)
            found = [p for t in answer.responses for p in t.partitions if p.records]
            if found:
                return member, found[0]
            await member.client.close()


async def walk(cluster: Cluster) -> None:
    leader = cluster.leader("orders")
    other = next(number for number in cluster.nodes if number != leader)
    client, aside = await open_to(cluster, leader), await open_to(cluster, other)
    topic = await topic_of(client)
    await client.produce(topic, batch(*[b"v"] * 10))
    await prepare(cluster, client, topic)

    refused = await Member(aside, GROUP, topic).fetch(max_wait_ms=FOREVER_MS)
    data = part(refused)
    assert (code(data.error_code), data.current_leader.leader_id) == ("NOT_LEADER_OR_FOLLOWER", leader)
    place = one(refused.node_endpoints)
    assert (place.node_id, place.port) == (leader, cluster.nodes[leader].port)

    member, data = await take(cluster, topic)
    assert acquired(data) == [(0, 9, 1)]
    assert await member.done_with(0, 3) == 0
    assert await member.done_with(6, 6) == 0
    waiting = asyncio.ensure_future(member.fetch(max_wait_ms=FOREVER_MS))
    await asyncio.to_thread(cluster.kill, leader)
    await asyncio.wait((waiting,))
    assert waiting.exception() is not None

    again, data = await take(cluster, topic)
    assert [(first, last) for first, last, _ in acquired(data)] == [(4, 5), (7, 9)]
    for each in (client, aside, member.client, again.client):
        await each.close()


def test_after_a_leader_dies_only_unacknowledged_records_are_redelivered() -> None:
    with Cluster(3, topics={"orders": 1}, config=SETTINGS) as cluster:
        asyncio.run(walk(cluster))
