"""All that nodes of the metadata quorum say to each other, and what clients ask about it (KIP-595, KIP-630, KIP-853).

Vote (52), BeginQuorumEpoch (53), EndQuorumEpoch (54), DescribeQuorum (55), FetchSnapshot (59), AddRaftVoter (80),
RemoveRaftVoter (81), UpdateRaftVoter (82), and Fetch (1) of the metadata log: the state machine answers, in its time.
"""

from typing import Any

from msgspec.structs import replace

from penstock.cluster.raft import wire
from penstock.cluster.raft.errors import RaftFailed
from penstock.cluster.raft.messages import Request
from penstock.cluster.topic_names import CLUSTER_METADATA
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from penstock.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.protocol.messages.fetch import FetchRequest, FetchResponse
from penstock.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.protocol.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from penstock.protocol.messages.vote import VoteRequest, VoteResponse
from penstock.protocol.wire import ZERO_UUID
from penstock.security.operations import Operation
from penstock.server.connection_host import CloseConnection
from penstock.server.context import RequestContext

_RESPONSES: dict[type, type] = {
    AddRaftVoterRequest: AddRaftVoterResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    DescribeQuorumRequest: DescribeQuorumResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    RemoveRaftVoterRequest: RemoveRaftVoterResponse,
    UpdateRaftVoterRequest: UpdateRaftVoterResponse,
    VoteRequest: VoteResponse,
}
_PERMISSIONS: dict[type, Operation] = {
    AddRaftVoterRequest: Operation.ALTER,
    DescribeQuorumRequest: Operation.DESCRIBE,
    RemoveRaftVoterRequest: Operation.ALTER,
}
"""What clients need of the cluster; the rest is for brokers (`broker_apis`)."""

_ADDRESSES: dict[type, tuple[str, int]] = {
    BeginQuorumEpochResponse: ("node_endpoints", 1),
    DescribeQuorumResponse: ("nodes", 2),
    EndQuorumEpochResponse: ("node_endpoints", 1),
    FetchResponse: ("node_endpoints", 16),
    FetchSnapshotResponse: ("node_endpoints", 1),
    VoteResponse: ("node_endpoints", 1),
}


def handle(ctx: RequestContext, request: Any) -> Any:
    response_type = _RESPONSES[type(request)]
    needed = _PERMISSIONS.get(type(request))
    if needed is not None and not ctx.may_in_cluster(needed):
        return response_type(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if isinstance(request, AddRaftVoterRequest) and not _is_known(ctx, request):
        return AddRaftVoterResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="A voter is a registered broker, at the addresses that it has registered",
        )
    if isinstance(request, DescribeQuorumRequest) and not _is_about_metadata(request):
        return _unknown_partitions(request)
    try:
        asked = wire.decode_request(request)
    except wire.NotTheQuorum:
        return response_type(error_code=ErrorCode.INVALID_REQUEST)
    return _ask(ctx, asked)


def _is_known(ctx: RequestContext, request: AddRaftVoterRequest) -> bool:
    """Brokers add themselves. Of anybody else it must be about a broker: voters are connected to, and shown proofs."""
    if ctx.peer.is_broker:
        return True
    broker = ctx.broker.controller.image.brokers.get(request.voter_id)
    known = [] if broker is None else [(each.name, each.host, each.port) for each in broker.endpoints]
    return bool(known) and all((each.name, each.host, each.port) in known for each in request.listeners)


def _is_about_metadata(request: DescribeQuorumRequest) -> bool:
    wanted = [
        (topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions
    ]
    return wanted == [(CLUSTER_METADATA, 0)]


def _unknown_partitions(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    topics = [
        ResponseTopicData(
            topic_name=topic.topic_name,
            partitions=[
                ResponsePartitionData(
                    partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return DescribeQuorumResponse(topics=topics)


async def _ask(ctx: RequestContext, request: Request) -> Any:
    try:
        answer = await ctx.broker.quorum.ask(request)
    except RaftFailed as error:
        raise CloseConnection(str(error)) from error
    return _as_of_version(ctx.version, wire.encode_response(request, answer))


def _as_of_version(version: int, response: Any) -> Any:
    """Where nodes are reached, and their directories, are told in versions that have a place for it (KIP-853)."""
    name, first_version = _ADDRESSES.get(type(response), ("", 0))
    if version >= first_version:
        return response
    if isinstance(response, DescribeQuorumResponse):
        response = replace(response, topics=[_without_directories(topic) for topic in response.topics])
    return replace(response, **{name: []})


def _without_directories(topic: ResponseTopicData) -> ResponseTopicData:
    return replace(
        topic,
        partitions=[
            replace(
                each,
                current_voters=[replace(v, replica_directory_id=ZERO_UUID) for v in each.current_voters],
                observers=[replace(o, replica_directory_id=ZERO_UUID) for o in each.observers],
            )
            for each in topic.partitions
        ],
    )
