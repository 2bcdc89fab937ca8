from penstock.client.aio import TopicPartition
from penstock.console.kafka.log_sizes import leader_sizes
from penstock.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def _log_dirs(*sizes: int) -> DescribeLogDirsResponse:
    partitions = [
        DescribeLogDirsPartition(partition_index=n, partition_size=size) for n, size in enumerate(sizes)
    ]
    topic = DescribeLogDirsTopic(name="orders", partitions=partitions)
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=[topic])])


def test_each_partition_is_counted_once_at_its_leader() -> None:
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    answers = {1: _log_dirs(100, 90), 2: _log_dirs(95, 200)}
    assert leader_sizes(answers, {first: 1, second: 2}) == {first: 100, second: 200}


def test_partitions_of_a_broker_that_does_not_answer_are_skipped() -> None:
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert leader_sizes({1: _log_dirs(100, 90)}, {first: 1, second: 2}) == {first: 100}
