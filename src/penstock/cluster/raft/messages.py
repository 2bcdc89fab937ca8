"""The messages between the nodes of the quorum, about its one partition. `quorum.wire` translates them for the network.

Every answer carries the leader that the answering node knows.
"""

import msgspec

from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock.cluster.raft.voters import Voter
from penstock.protocol.errors import ErrorCode

HIGH_WATERMARK_UNKNOWN = 2**63 - 1
"""In a fetch: the follower does not send its high watermark (before KIP-1166)."""


class VoteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for a vote, or for a pre-vote before the epoch is raised (KIP-996)."""

    cluster_id: str | None
    voter: ReplicaKey | None
    candidate: ReplicaKey
    epoch: int
    last: LogPosition
    is_pre_vote: bool


class BeginQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True):
    """From a new leader to the voters that have not fetched from it yet."""

    cluster_id: str | None
    voter: ReplicaKey | None
    leader_id: int
    epoch: int
    endpoints: tuple[Address, ...] = ()


class EndQuorumEpochRequest(msgspec.Struct, frozen=True, kw_only=True):
    """From a leader that resigns; the `preferred` voters should stand for election in that order."""

    cluster_id: str | None
    leader_id: int
    epoch: int
    preferred: tuple[ReplicaKey, ...]
    endpoints: tuple[Address, ...] = ()


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the records from `offset` on; the follower has all records below on its disk."""

    cluster_id: str | None
    replica: ReplicaKey
    epoch: int
    offset: int
    last_epoch: int
    max_wait_ms: int
    max_bytes: int
    high_watermark: int = HIGH_WATERMARK_UNKNOWN


class FetchSnapshotRequest(msgspec.Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    replica: ReplicaKey
    epoch: int
    snapshot: LogPosition
    position: int
    max_bytes: int


class AddVoterRequest(msgspec.Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    voter: Voter
    timeout_ms: int
    ack_when_committed: bool = True


class RemoveVoterRequest(msgspec.Struct, frozen=True, kw_only=True):
    cluster_id: str | None
    voter: ReplicaKey


class UpdateVoterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """From a voter whose endpoints have changed."""

    cluster_id: str | None
    epoch: int
    voter: Voter


class DescribeQuorumRequest(msgspec.Struct, frozen=True, kw_only=True):
    pass


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
    | DescribeQuorumRequest
)


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of all responses. `epoch` is the responding node's."""

    error: ErrorCode = ErrorCode.NONE
    epoch: int = 0
    leader_id: int | None = None
    leader_endpoints: tuple[Address, ...] = ()


class VoteResponse(Response, frozen=True, kw_only=True):
    is_granted: bool = False


class BeginQuorumEpochResponse(Response, frozen=True, kw_only=True):
    pass


class EndQuorumEpochResponse(Response, frozen=True, kw_only=True):
    pass


class FetchResponse(Response, frozen=True, kw_only=True):
    """Records, or the position where the follower's log diverges, or the snapshot that it must fetch first."""

    high_watermark: int = -1
    log_start_offset: int = -1
    diverging: LogPosition | None = None
    snapshot: LogPosition | None = None
    records: bytes = b""


class FetchSnapshotResponse(Response, frozen=True, kw_only=True):
    snapshot: LogPosition = LogPosition(0, 0)
    size_bytes: int = 0
    position: int = 0
    data: bytes = b""


class VoterChangeResponse(Response, frozen=True, kw_only=True):
    """To AddVoter, RemoveVoter and UpdateVoter."""

    message: str | None = None


class ReplicaProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A replica's progress; times are wall-clock milliseconds, -1 for never."""

    key: ReplicaKey
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class DescribeQuorumResponse(Response, frozen=True, kw_only=True):
    high_watermark: int = -1
    voters: tuple[ReplicaProgress, ...] = ()
    observers: tuple[ReplicaProgress, ...] = ()
    endpoints: tuple[Voter, ...] = ()
