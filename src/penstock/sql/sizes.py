"""The sizes of partitions in their leaders' logs, for estimates. A user who may not see them gets none."""

from collections.abc import Mapping
from typing import Any

from penstock.client.blocking.client import BlockingClient
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.protocol.messages import describe_log_dirs as api
from penstock.sql.snapshot import Snapshot


def partition_sizes(client: BlockingClient, snapshot: Snapshot) -> Mapping[int, int]:
    """Return the bytes of each partition that its leader reports."""
    by_leader: dict[int, list[int]] = {}
    for partition in snapshot.ends:
        leader = client.leader(TopicPartition(snapshot.topic, partition))
        by_leader.setdefault(leader.node_id, []).append(partition)
    sizes: dict[int, int] = {}
    for partitions in by_leader.values():
        try:
            response = _ask_leader(client, snapshot.topic, partitions)
        except ClientError:
            continue
        for directory in response.results:
            for topic in directory.topics:
                sizes |= {each.partition_index: each.partition_size for each in topic.partitions}
    return sizes


def _ask_leader(client: BlockingClient, topic: str, partitions: list[int]) -> Any:
    """Ask the broker that leads these partitions."""
    wanted = api.DescribableLogDirTopic(topic=topic, partitions=partitions)
    request = api.DescribeLogDirsRequest(topics=[wanted])
    return client.call_leader(
        TopicPartition(topic, partitions[0]), api.API_KEY, lambda _version, _leader: request
    )
