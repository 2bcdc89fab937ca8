"""The events that a node of the quorum handles."""

import msgspec

from penstock.cluster.raft.messages import Request, Response
from penstock.cluster.raft.values import LogPosition, ReplicaKey
from penstock.cluster.raft.voters import VoterSet

Token = object
"""Identifies a request to the caller; the node only passes it on."""


class Tick(msgspec.Struct, frozen=True):
    """Time has passed: `RaftNode.next_deadline_ms` has come, or nearly."""


class RequestArrived(msgspec.Struct, frozen=True):
    token: Token
    request: Request


class ResponseArrived(msgspec.Struct, frozen=True):
    request_id: int
    response: Response


class RequestFailed(msgspec.Struct, frozen=True):
    """The request will not be answered: the connection failed."""

    request_id: int
    is_refused: bool = False
    """The connection was refused: the process of the other node has ended."""


class AppendRequested(msgspec.Struct, frozen=True):
    """The local controller appends batches as leader of `epoch`; their offsets are not assigned yet."""

    token: Token
    epoch: int
    batches: bytes


class Synced(msgspec.Struct, frozen=True):
    """All records below `offset` are durable."""

    offset: int


class SnapshotTaken(msgspec.Struct, frozen=True):
    """The state machine has written a snapshot of all records committed below its end."""

    snapshot: LogPosition


class SnapshotInstalled(msgspec.Struct, frozen=True):
    """A snapshot of the leader has replaced the log; `voters` is the voter set in it."""

    snapshot: LogPosition
    voters: VoterSet | None


class SnapshotRejected(msgspec.Struct, frozen=True):
    """A snapshot of the leader does not match its checksums; nothing was replaced."""

    snapshot: LogPosition


class ResignRequested(msgspec.Struct, frozen=True):
    """Give up leadership, if this node has it: to `successor` if one is named, else to the most advanced voter."""

    successor: ReplicaKey | None = None
    is_for_good: bool = False
    """The node is about to stop, and does not stand for election again."""


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
