"""All that nodes of the metadata quorum say to each other, and what clients ask about it (KIP-595, KIP-630, KIP-853).

Vote (52), BeginQuorumEpoch (53), EndQuorumEpoch (54), DescribeQuorum (55), FetchSnapshot (59), AddRaftVoter (80),
RemoveRaftVoter (81), UpdateRaftVoter (82), and Fetch (1) of the metadata log: the state machine answers, in its time.
"""

from typing import Any

from penstock.cluster.raft import wire
from penstock.cluster.raft.errors import RaftFailed
from penstock.protocol.errors import ErrorCode
from penstock.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from penstock.protocol.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.protocol.messages.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from penstock.protocol.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.protocol.messages.fetch import FetchRequest, FetchResponse
from penstock.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from penstock.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from penstock.protocol.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from penstock.protocol.messages.vote import VoteRequest, VoteResponse
from penstock.security.operations import Operation
from penstock.server.connection_host import CloseConnection
from penstock.server.context import RequestContext

# What is needed of the cluster, and what answers those who may not.
_PERMISSIONS: dict[type, tuple[Operation, type]] = {
    AddRaftVoterRequest: (Operation.ALTER, AddRaftVoterResponse),
    BeginQuorumEpochRequest: (Operation.CLUSTER_ACTION, BeginQuorumEpochResponse),
    DescribeQuorumRequest: (Operation.DESCRIBE, DescribeQuorumResponse),
    EndQuorumEpochRequest: (Operation.CLUSTER_ACTION, EndQuorumEpochResponse),
    FetchRequest: (Operation.CLUSTER_ACTION, FetchResponse),
    FetchSnapshotRequest: (Operation.CLUSTER_ACTION, FetchSnapshotResponse),
    RemoveRaftVoterRequest: (Operation.ALTER, RemoveRaftVoterResponse),
    UpdateRaftVoterRequest: (Operation.CLUSTER_ACTION, UpdateRaftVoterResponse),
    VoteRequest: (Operation.CLUSTER_ACTION, VoteResponse),
}


def handle(ctx: RequestContext, request: Any) -> Any:
    operation, response_type = _PERMISSIONS[type(request)]
    if not ctx.may_in_cluster(operation):
        return response_type(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return _ask(ctx, request)


async def _ask(ctx: RequestContext, message: Any) -> Any:
    try:
        request = wire.decode_request(message)
    except wire.NotTheQuorum as error:
        raise CloseConnection("it asks about a quorum that there is none of") from error
    try:
        answer = await ctx.broker.quorum.ask(request)
    except RaftFailed as error:
        raise CloseConnection(str(error)) from error
    return wire.encode_response(request, answer)
