"""What there is to know of a cluster: its brokers, its metadata quorum, and where every partition is."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from penstock.cli.client_settings import client_settings
from penstock.cli.connection import check_reachable
from penstock.cli.errors import CommandError, one_line
from penstock.client.blocking.cluster import GROUP, Cluster
from penstock.client.damage import DamagedReplica, damage_in
from penstock.client.disks import Disk, disks_in, log_dirs_request, state_request
from penstock.client.errors import ClientError, UnsupportedApi
from penstock.client.settings import ClientSettings
from penstock.protocol.errors import ErrorCode, ProtocolError, is_retriable
from penstock.protocol.messages import (
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    metadata,
)
from penstock.protocol.messages import list_partition_reassignments as reassignments

NO_LEADER = -1
_METADATA_TOPIC = "__cluster_metadata"
_DEADLINE_MS = "15000"


class BrokerFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: int
    address: str
    rack: str | None = None
    is_fenced: bool = False


class Placed(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A partition and where it is. While it moves, `replicas` are the old and the new ones."""

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
        """The replicas that are left when what is under way is done."""
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


class QuorumFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    leader: int
    epoch: int
    high_watermark: int
    nodes: list[QuorumNode]

    def voter(self, node: int) -> QuorumNode | None:
        return next((each for each in self.nodes if each.is_voter and each.node == node), None)


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    cluster_id: str
    brokers: list[BrokerFacts]
    partitions: list[Placed]

    def broker(self, number: int) -> BrokerFacts | None:
        return next((each for each in self.brokers if each.id == number), None)

    @property
    def unhealthy(self) -> list[Placed]:
        """Partitions that nobody leads, or that lack a replica."""
        return [each for each in self.partitions if each.leader == NO_LEADER or each.is_under_replicated]


class Operator:
    """Asks any broker; what only the controller can answer is forwarded to it. Errors are `CommandError`s."""

    def __init__(self, servers: str, settings: Iterable[str]) -> None:
        check_reachable(servers)
        properties = {
            "bootstrap.servers": servers,
            "client.id": "penstock-cli",
            "default.api.timeout.ms": _DEADLINE_MS,
            **client_settings(settings),
        }
        try:
            self._cluster = Cluster(ClientSettings.from_properties(properties))
        except ClientError as error:
            raise CommandError(one_line(str(error))) from None

    def close(self) -> None:
        self._cluster.close()

    def ask(self, api_key: int, request: Any) -> Any:
        """The answer, when it carries no error of its own; errors of its parts are the caller's to judge."""
        try:
            return self._cluster.call_any(
                api_key, lambda _version: request, lambda answer: int(answer.error_code)
            )
        except (ClientError, ProtocolError, OSError) as error:
            raise CommandError(one_line(str(error))) from None

    def ask_parts(self, api_key: int, request: Any) -> Any:
        """The answer of an API whose errors are all in its parts."""
        try:
            return self._cluster.call_any(api_key, lambda _version: request, lambda _answer: 0)
        except (ClientError, ProtocolError, OSError) as error:
            raise CommandError(one_line(str(error))) from None

    def ask_broker(self, number: str, api_key: int, request: Any) -> Any:
        """The answer of one broker, about what only that one knows; its errors are all in its parts."""
        described = self.ask(describe_cluster.API_KEY, describe_cluster.DescribeClusterRequest())
        broker = next((each for each in described.brokers if str(each.broker_id) == number), None)
        if broker is None:
            raise CommandError(f"there is no broker {number}")
        try:
            with self._cluster.connection((broker.host, broker.port)) as connection:
                return connection.call(api_key, connection.version(api_key), request)
        except (ClientError, ProtocolError, OSError) as error:
            raise CommandError(one_line(str(error))) from None

    def ask_group_coordinator(
        self, group: str, api_key: int, request: Any, error_of: Callable[[Any], int]
    ) -> Any:
        """The answer of whoever coordinates a group, once `error_of` finds no error in it that passes.

        None from a broker that does not know the API.
        """

        def passing(answer: Any) -> int:
            code = error_of(answer)
            return code if is_retriable(code) else 0

        try:
            return self._cluster.call_coordinator(GROUP, group, api_key, lambda _version: request, passing)
        except UnsupportedApi:
            return None
        except (ClientError, ProtocolError, OSError) as error:
            raise CommandError(one_line(str(error))) from None

    def facts(self) -> ClusterFacts:
        described = self.ask(
            describe_cluster.API_KEY, describe_cluster.DescribeClusterRequest(include_fenced_brokers=True)
        )
        listed = self.ask(
            metadata.API_KEY, metadata.MetadataRequest(topics=None, allow_auto_topic_creation=False)
        )
        moving = self.ask(reassignments.API_KEY, reassignments.ListPartitionReassignmentsRequest())
        return ClusterFacts(
            cluster_id=described.cluster_id,
            brokers=brokers_in(described),
            partitions=partitions_in(listed, moving),
        )

    def disks(self, brokers: Iterable[BrokerFacts]) -> tuple[list[Disk], list[DamagedReplica]]:
        """The disks of the brokers that answer, and the damaged records on them."""
        disks: list[Disk] = []
        damage: list[DamagedReplica] = []
        for each in brokers:
            with contextlib.suppress(CommandError):
                log_dirs = self.ask_broker(str(each.id), describe_log_dirs.API_KEY, log_dirs_request())
                state = self.ask_broker(str(each.id), describe_configs.API_KEY, state_request(each.id))
                disks += disks_in(each.id, log_dirs, state)
                damage += damage_in(each.id, state)
        return disks, damage

    def quorum(self) -> QuorumFacts:
        partition = describe_quorum.RequestPartitionData(partition_index=0)
        topic = describe_quorum.RequestTopicData(topic_name=_METADATA_TOPIC, partitions=[partition])
        answer = self.ask(describe_quorum.API_KEY, describe_quorum.DescribeQuorumRequest(topics=[topic]))
        found = answer.topics[0].partitions[0]
        if found.error_code:
            raise CommandError(f"the metadata quorum does not describe itself: {error_words(found)}")
        return quorum_in(found)


def brokers_in(described: describe_cluster.DescribeClusterResponse) -> list[BrokerFacts]:
    found = [
        BrokerFacts(
            id=each.broker_id, address=f"{each.host}:{each.port}", rack=each.rack, is_fenced=each.is_fenced
        )
        for each in described.brokers
    ]
    return sorted(found, key=lambda each: each.id)


def partitions_in(
    listed: metadata.MetadataResponse, moving: reassignments.ListPartitionReassignmentsResponse
) -> list[Placed]:
    """Every partition, by topic and number."""
    removing = {
        (topic.name, each.partition_index): tuple(each.removing_replicas)
        for topic in moving.topics
        for each in topic.partitions
    }
    found = [
        Placed(
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


def quorum_in(found: describe_quorum.ResponsePartitionData) -> QuorumFacts:
    """Lag is counted from the leader's own end."""

    def end_of(states: Sequence[describe_quorum.ReplicaState]) -> int:
        return max((each.log_end_offset for each in states if each.replica_id == found.leader_id), default=0)

    leader_end = end_of(found.current_voters)
    return QuorumFacts(
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


def error_words(answer: Any) -> str:
    """What an answer or a part of one says went wrong, in words."""
    try:
        name = ErrorCode(answer.error_code).name.lower().replace("_", " ")
    except ValueError:
        name = f"error {answer.error_code}"
    message = one_line(getattr(answer, "error_message", None) or "")
    return f"{name} ({message.rstrip('.')})" if message else name
