"""What happens to a node of the quorum: all that it is ever told."""

import msgspec

from penstock.cluster.raft.messages import Request, Response
from penstock.cluster.raft.values import LogPosition, ReplicaKey
from penstock.cluster.raft.voters import VoterSet

Token = object
"""By which whoever asked knows the answer again; the node looks at it never."""


class Tick(msgspec.Struct, frozen=True):
    """Time has passed: `RaftNode.next_deadline_ms` has come, or nearly."""


class RequestArrived(msgspec.Struct, frozen=True):
    token: Token
    request: Request


class ResponseArrived(msgspec.Struct, frozen=True):
    request_id: int
    response: Response


class RequestFailed(msgspec.Struct, frozen=True):
    """There will be no answer: no connection, or it was lost."""

    request_id: int
    is_refused: bool = False
    """The host of the other node says that nobody listens there: the process has ended."""


class AppendRequested(msgspec.Struct, frozen=True):
    """The local controller wants batches appended, as leader of `epoch`; their offsets are still to be assigned."""

    token: Token
    epoch: int
    batches: bytes


class Synced(msgspec.Struct, frozen=True):
    """All below `offset` survives a power cut."""

    offset: int


class SnapshotTaken(msgspec.Struct, frozen=True):
    """The state machine has written down all that was committed below the snapshot's end."""

    snapshot: LogPosition


class SnapshotInstalled(msgspec.Struct, frozen=True):
    """A snapshot of the leader has replaced the log; `voters` is the set that stands in it."""

    snapshot: LogPosition
    voters: VoterSet | None


class SnapshotRejected(msgspec.Struct, frozen=True):
    """A snapshot of the leader is not what its checksums say; nothing was replaced."""

    snapshot: LogPosition


class ResignRequested(msgspec.Struct, frozen=True):
    """Give up leadership, if this node has it: to `successor` if one is named, else to the most advanced voter."""

    successor: ReplicaKey | None = None
    is_for_good: bool = False
    """The node is about to stop, and does not stand for election any more."""


Event = (
    Tick
    | RequestArrived
    | ResponseArrived
    | RequestFailed
    | AppendRequested
    | Synced
    | SnapshotTaken
    | SnapshotInstalled
    | SnapshotRejected
    | ResignRequested
)
