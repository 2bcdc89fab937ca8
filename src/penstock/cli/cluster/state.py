"""The state of a cluster: its brokers, its metadata quorum, its disks, and the replicas of every partition."""

import contextlib
from collections.abc import Iterable, Mapping

import msgspec

from penstock.cli.connect.requests import RequestClient, check_error
from penstock.cli.errors import CommandError
from penstock.client.damage import DamagedReplica, damage_in
from penstock.client.disks import Disk, disks_in, log_dirs_request, product_in, state_request
from penstock.protocol.messages import describe_cluster, describe_quorum, metadata
from penstock.protocol.messages import list_partition_reassignments as reassignments

NO_LEADER = -1
_METADATA_TOPIC = "__cluster_metadata"


class BrokerState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: int
    address: str
    rack: str | None = None
    is_fenced: bool = False
    product: str | None = None
    """Penstock or Kafka; None if the broker does not answer that."""
    is_voter: bool = False


class PartitionState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """While a partition is reassigned, `replicas` are the old and the new ones."""

    topic: str
    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    removing: tuple[int, ...] = ()
    is_moving: bool = False

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def staying(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def is_under_replicated(self) -> bool:
        return not set(self.staying) <= set(self.in_sync)


class QuorumNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    node: int
    is_voter: bool
    end_offset: int
    lag: int
    directory_id: str


class QuorumState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    leader: int
    epoch: int
    high_watermark: int
    nodes: list[QuorumNode]

    def voter(self, node: int) -> QuorumNode | None:
        return next((each for each in self.nodes if each.is_voter and each.node == node), None)


class ClusterState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    cluster_id: str
    brokers: list[BrokerState]
    partitions: list[PartitionState]

    def broker(self, number: int) -> BrokerState | None:
        return next((each for each in self.brokers if each.id == number), None)

    @property
    def unhealthy(self) -> list[PartitionState]:
        """Partitions without a leader, or with a replica out of sync."""
        return [each for each in self.partitions if each.leader == NO_LEADER or each.is_under_replicated]


def read_cluster(client: RequestClient) -> ClusterState:
    described = client.ask(describe_cluster.DescribeClusterRequest(include_fenced_brokers=True))
    listed = client.ask(metadata.MetadataRequest(topics=None, allow_auto_topic_creation=False))
    moving = client.ask(reassignments.ListPartitionReassignmentsRequest())
    return ClusterState(
        cluster_id=described.cluster_id,
        brokers=brokers_in(described),
        partitions=partitions_in(listed, moving),
    )


class BrokerReports(msgspec.Struct):
    """What the brokers that answer report about themselves."""

    products: dict[int, str] = {}
    disks: list[Disk] = []
    damage: list[DamagedReplica] = []


def read_reports(client: RequestClient, brokers: Iterable[BrokerState]) -> BrokerReports:
    """Read the product, the disks and the damaged records of each broker that answers."""
    reports = BrokerReports()
    for each in brokers:
        with contextlib.suppress(CommandError):
            log_dirs = client.ask_broker(each.id, log_dirs_request())
            state = client.ask_broker(each.id, state_request(each.id))
            if (product := product_in(state)) is not None:
                reports.products[each.id] = product
            reports.disks += disks_in(each.id, log_dirs, state)
            reports.damage += damage_in(each.id, state)
    return reports


def describe_brokers(
    brokers: Iterable[BrokerState], quorum: QuorumState, products: Mapping[int, str]
) -> list[BrokerState]:
    """The brokers with their product and their role in the metadata quorum."""
    return [
        msgspec.structs.replace(
            each, product=products.get(each.id), is_voter=quorum.voter(each.id) is not None
        )
        for each in brokers
    ]


def read_quorum(client: RequestClient) -> QuorumState:
    partition = describe_quorum.RequestPartitionData(partition_index=0)
    topic = describe_quorum.RequestTopicData(topic_name=_METADATA_TOPIC, partitions=[partition])
    response = client.ask(describe_quorum.DescribeQuorumRequest(topics=[topic]))
    found = response.topics[0].partitions[0]
    check_error(found, "cannot describe the metadata quorum")
    return quorum_in(found)


def brokers_in(described: describe_cluster.DescribeClusterResponse) -> list[BrokerState]:
    found = [
        BrokerState(
            id=each.broker_id, address=f"{each.host}:{each.port}", rack=each.rack, is_fenced=each.is_fenced
        )
        for each in described.brokers
    ]
    return sorted(found, key=lambda each: each.id)


def partitions_in(
    listed: metadata.MetadataResponse, moving: reassignments.ListPartitionReassignmentsResponse
) -> list[PartitionState]:
    """List every partition, by topic and number."""
    removing = {
        (topic.name, each.partition_index): tuple(each.removing_replicas)
        for topic in moving.topics
        for each in topic.partitions
    }
    found = [
        PartitionState(
            topic=topic.name,
            partition=each.partition_index,
            leader=each.leader_id,
            replicas=tuple(each.replica_nodes),
            in_sync=tuple(each.isr_nodes),
            removing=removing.get((topic.name, each.partition_index), ()),
            is_moving=(topic.name, each.partition_index) in removing,
        )
        for topic in listed.topics
        if topic.name is not None
        for each in topic.partitions
    ]
    return sorted(found, key=lambda each: (each.topic, each.partition))


def quorum_in(found: describe_quorum.ResponsePartitionData) -> QuorumState:
    """Lag is counted from the leader's end offset."""
    leader_end = max(
        (each.log_end_offset for each in found.current_voters if each.replica_id == found.leader_id),
        default=0,
    )
    return QuorumState(
        leader=found.leader_id,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        nodes=[
            QuorumNode(
                node=each.replica_id,
                is_voter=is_voter,
                end_offset=each.log_end_offset,
                lag=max(0, leader_end - max(0, each.log_end_offset)),
                directory_id=each.replica_directory_id.hex(),
            )
            for is_voter, states in ((True, found.current_voters), (False, found.observers))
            for each in sorted(states, key=lambda each: each.replica_id)
        ],
    )
