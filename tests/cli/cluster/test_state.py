"""The state of a cluster, read from responses of brokers."""

from penstock.cli.cluster.state import ClusterState, PartitionState, brokers_in, partitions_in, quorum_in
from penstock.cli.connect.requests import error_text
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.alter_partition_reassignments import ReassignablePartitionResponse
from penstock.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from penstock.protocol.messages.describe_quorum import ReplicaState, ResponsePartitionData
from penstock.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from penstock.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def test_brokers_are_sorted_by_id() -> None:
    answer = DescribeClusterResponse(
        brokers=[
            DescribeClusterBroker(broker_id=2, host="b", port=2, rack="r", is_fenced=True),
            DescribeClusterBroker(broker_id=1, host="a", port=1),
        ]
    )
    assert [(each.id, each.address, each.rack, each.is_fenced) for each in brokers_in(answer)] == [
        (1, "a:1", None, False),
        (2, "b:2", "r", True),
    ]


def test_a_partition_that_is_reassigned_is_not_under_replicated() -> None:
    listed = MetadataResponse(
        topics=[
            MetadataResponseTopic(
                name="t",
                partitions=[
                    MetadataResponsePartition(
                        partition_index=1, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2]
                    ),
                    MetadataResponsePartition(
                        partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]
                    ),
                ],
            )
        ]
    )
    ongoing = OngoingPartitionReassignment(
        partition_index=1, replicas=[1, 2, 3], adding_replicas=[2], removing_replicas=[3]
    )
    moving = ListPartitionReassignmentsResponse(
        topics=[OngoingTopicReassignment(name="t", partitions=[ongoing])]
    )
    behind, moved = partitions_in(listed, moving)
    assert (behind.name, behind.is_moving, behind.is_under_replicated) == ("t-0", False, True)
    assert (moved.name, moved.is_moving, moved.is_under_replicated) == ("t-1", True, False)
    assert moved.staying == (1, 2)


def test_partitions_without_a_leader_or_a_replica_are_unhealthy() -> None:
    def placed(number: int, leader: int, in_sync: tuple[int, ...]) -> PartitionState:
        return PartitionState(topic="t", partition=number, leader=leader, replicas=(1, 2), in_sync=in_sync)

    facts = ClusterState(
        cluster_id="c",
        brokers=[],
        partitions=[placed(0, 1, (1, 2)), placed(1, -1, (1, 2)), placed(2, 1, (1,))],
    )
    assert [each.partition for each in facts.unhealthy] == [1, 2]


def test_lag_in_the_quorum_is_counted_from_the_leader() -> None:
    quorum = quorum_in(
        ResponsePartitionData(
            leader_id=1,
            leader_epoch=4,
            high_watermark=90,
            current_voters=[
                ReplicaState(replica_id=2, replica_directory_id=b"\2" * 16, log_end_offset=90),
                ReplicaState(replica_id=1, log_end_offset=100),
            ],
            observers=[ReplicaState(replica_id=3, log_end_offset=-1)],
        )
    )
    assert [(each.node, each.is_voter, each.lag) for each in quorum.nodes] == [
        (1, True, 0),
        (2, True, 10),
        (3, False, 100),
    ]
    voter = quorum.voter(2)
    assert voter is not None
    assert bytes.fromhex(voter.directory_id) == b"\2" * 16
    assert quorum.voter(3) is None


def test_errors_are_described_in_words() -> None:
    part = ReassignablePartitionResponse(
        error_code=ErrorCode.INVALID_REPLICA_ASSIGNMENT, error_message="No\nbroker 9."
    )
    assert error_text(part) == "invalid replica assignment (No broker 9)"
    assert error_text(ReassignablePartitionResponse(error_code=12345)) == "error 12345"
