"""A follower with a full disk: it leaves the in-sync set, the others continue, and it rejoins by itself."""

import asyncio
import time
from collections.abc import Callable

from penstock.client.aio import Client
from penstock.embedded import Cluster
from penstock.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

BROKER = 4
SETTINGS = {"replica.lag.time.max.ms": 500, "replica.fetch.backoff.ms": 100, "min.insync.replicas": 1}


def eventually(is_so: Callable[[], bool]) -> None:
    """The test's time limit ends this."""
    while not is_so():
        time.sleep(0.01)


def set_reserve(cluster: Cluster, node: int, reserve_bytes: int) -> None:
    async def change() -> None:
        config = AlterableConfig(name="penstock.disk.reserve.bytes", value=str(reserve_bytes))
        resource = AlterConfigsResource(resource_type=BROKER, resource_name=str(node), configs=[config])
        async with Client(cluster.bootstrap_servers) as client:
            response = await client.request(node, IncrementalAlterConfigsRequest(resources=[resource]))
        assert [each.error_code for each in response.responses] == [0]

    asyncio.run(change())


def test_a_follower_with_a_full_disk_leaves_the_isr_and_rejoins_when_space_is_freed() -> None:
    with Cluster(3, topics={"orders": 1, "quiet": 1}, config=SETTINGS) as cluster:
        topic = cluster.topic("orders")
        topic.produce(b"one")
        eventually(lambda: cluster.in_sync("orders") == cluster.in_sync("quiet") == {1, 2, 3})
        follower = next(node for node in (1, 2, 3) if node != cluster.leader("orders"))
        set_reserve(cluster, follower, 1 << 60)
        eventually(lambda: follower not in _produced_and_in_sync(cluster))
        assert cluster.in_sync("quiet") == {1, 2, 3}, "nothing is missing there"
        set_reserve(cluster, follower, -1)
        eventually(lambda: cluster.in_sync("orders") == {1, 2, 3})


def _produced_and_in_sync(cluster: Cluster) -> set[int]:
    cluster.topic("orders").produce(b"more")
    return cluster.in_sync("orders")
