"""How large logs are on the disks of the brokers (DescribeLogDirs)."""

from collections.abc import Iterable, Mapping

from penstock.client.cluster import Client, TopicPartition
from penstock.console.kafka.places import ask_each
from penstock.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

LogDirs = Mapping[int, DescribeLogDirsResponse]


async def log_dirs(client: Client, brokers: Iterable[int]) -> LogDirs:
    """What each broker tells of its log directories."""
    return await ask_each(client, brokers, DescribeLogDirsRequest(topics=None))


def leader_sizes(told: LogDirs, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The size of each partition where it is led: copies on followers are not counted. Pure."""
    sizes: dict[TopicPartition, int] = {}
    for node, response in told.items():
        for directory in response.results:
            for topic in directory.topics:
                for partition in topic.partitions:
                    where = TopicPartition(topic.name, partition.partition_index)
                    if leaders.get(where) == node and not partition.is_future_key:
                        sizes[where] = partition.partition_size
    return sizes
