from penstock.client.aio import TopicPartition
from penstock.console.kafka.sizes import leader_sizes
from penstock.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def _told(*sizes: int) -> DescribeLogDirsResponse:
    partitions = [
        DescribeLogDirsPartition(partition_index=n, partition_size=size) for n, size in enumerate(sizes)
    ]
    topic = DescribeLogDirsTopic(name="orders", partitions=partitions)
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=[topic])])


def test_each_partition_is_counted_once_where_it_is_led() -> None:
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    told = {1: _told(100, 90), 2: _told(95, 200)}
    assert leader_sizes(told, {first: 1, second: 2}) == {first: 100, second: 200}


def test_a_broker_that_does_not_answer_leaves_its_partitions_out() -> None:
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert leader_sizes({1: _told(100, 90)}, {first: 1, second: 2}) == {first: 100}
