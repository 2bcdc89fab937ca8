"""A partition that gets a replica on another broker, between real brokers."""

import asyncio

from penstock.client.connection import Connection
from penstock.embedded.cluster import Cluster
from penstock.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.server.handlers.test_alter_partition_reassignments import VERSIONS, move
from tests.server.handlers.test_delete_records import delete
from tests.server.live import Client, batch


def test_a_new_replica_gets_in_sync_with_a_leader_whose_log_starts_inside_a_batch() -> None:
    """DeleteRecords may move the start to any record, and brokers send each other whole batches."""

    async def scenario() -> None:
        client = Client(await Connection.open(cluster.nodes[1].host, cluster.nodes[1].port))
        topic = await client.create_topic(assignments=[[1]])
        await client.produce(topic, batch(b"a", b"b", b"c"))
        assert (await delete(client, topic.name, 2)).low_watermark == 2
        assert await move(client, topic.name, [1, 2], VERSIONS[-1]) == "NONE"
        async with asyncio.timeout(20):
            while (await client.send(ListPartitionReassignmentsRequest(topics=None))).topics:
                await asyncio.sleep(0.01)
        assert cluster.in_sync(topic.name) == {1, 2}
        await client.close()

    with Cluster(2) as cluster:
        asyncio.run(scenario())
