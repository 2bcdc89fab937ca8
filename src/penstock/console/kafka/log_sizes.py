"""The sizes of logs on the brokers' disks (DescribeLogDirs)."""

from collections.abc import Iterable, Mapping

from penstock.client.aio import Client, TopicPartition
from penstock.console.kafka.topics import ask_each
from penstock.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

LogDirs = Mapping[int, DescribeLogDirsResponse]


async def log_dirs(client: Client, brokers: Iterable[int]) -> LogDirs:
    """The log directories of each broker."""
    return await ask_each(client, brokers, DescribeLogDirsRequest(topics=None))


def leader_sizes(dirs: LogDirs, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The size of each partition where it is led: copies on followers are not counted. Pure."""
    sizes: dict[TopicPartition, int] = {}
    for node, response in dirs.items():
        for directory in response.results:
            for topic in directory.topics:
                for partition in topic.partitions:
                    where = TopicPartition(topic.name, partition.partition_index)
                    if leaders.get(where) == node and not partition.is_future_key:
                        sizes[where] = partition.partition_size
    return sizes
