"""The effects of an event: I/O that the driver performs for a node of the quorum.

The driver performs the effects of one event in order, before it hands in the next event: a `Persist` is durable before
anything after it is sent or answered.
"""

import msgspec

from penstock.cluster.raft.events import Token
from penstock.cluster.raft.messages import FetchResponse, FetchSnapshotResponse, Request, Response
from penstock.cluster.raft.values import Address, Election, LogPosition
from penstock.protocol.errors import ErrorCode


class Persist(msgspec.Struct, frozen=True):
    """Write the election state and sync it. If that fails the node must stop."""

    election: Election


class Send(msgspec.Struct, frozen=True):
    """Send a request; its answer comes back as `ResponseArrived`, or `RequestFailed`, with the same id.

    Negative node ids are bootstrap servers, of which the first is -2, as in KRaft.
    """

    request_id: int
    to: int
    addresses: tuple[Address, ...]
    request: Request


class Answer(msgspec.Struct, frozen=True):
    token: Token
    response: Response


class AnswerWithRecords(msgspec.Struct, frozen=True):
    """Answer a fetch with batches that are read now: from `offset`, below `offset_limit`, about `max_bytes`."""

    token: Token
    response: FetchResponse
    offset: int
    offset_limit: int
    max_bytes: int


class AnswerWithSnapshot(msgspec.Struct, frozen=True):
    """Answer with bytes of a snapshot that are read now, and with its size."""

    token: Token
    response: FetchSnapshotResponse
    max_bytes: int


class Append(msgspec.Struct, frozen=True):
    """Append batches that have their offsets, sync them, then hand in `Synced`."""

    base_offset: int
    batches: bytes


class AppendAnswered(msgspec.Struct, frozen=True):
    """The answer to an `AppendRequested`: with NONE it is appended up to `last_offset`, but not committed yet."""

    token: Token
    error: ErrorCode
    last_offset: int = -1


class Truncate(msgspec.Struct, frozen=True):
    """Drop all from `end_offset` on."""

    end_offset: int


class StoreSnapshotChunk(msgspec.Struct, frozen=True):
    """Write bytes of a snapshot that is being fetched; at position 0 the file starts again."""

    snapshot: LogPosition
    position: int
    data: bytes


class InstallSnapshot(msgspec.Struct, frozen=True):
    """The fetched snapshot is complete: sync it, replace the log by it, load it, and hand in `SnapshotInstalled`
    before any other event.
    """

    snapshot: LogPosition


class TakeSnapshot(msgspec.Struct, frozen=True):
    """Write a snapshot of the state once it is applied up to `snapshot`, then hand in `SnapshotTaken`."""

    snapshot: LogPosition


class DropPrefix(msgspec.Struct, frozen=True):
    """Start the log at this snapshot's end; earlier records and snapshots may be deleted."""

    snapshot: LogPosition


class Committed(msgspec.Struct, frozen=True):
    """All records below `offset` are committed: apply them."""

    offset: int


class LeaderChanged(msgspec.Struct, frozen=True):
    """The leader that this node knows has changed. If it is this node, it may append in this epoch."""

    leader_id: int | None
    epoch: int


class Left(msgspec.Struct, frozen=True):
    """The node has resigned for good: it may stop now."""


Effect = (
    Persist
    | Send
    | Answer
    | AnswerWithRecords
    | AnswerWithSnapshot
    | Append
    | AppendAnswered
    | Truncate
    | StoreSnapshotChunk
    | InstallSnapshot
    | TakeSnapshot
    | DropPrefix
    | Committed
    | LeaderChanged
    | Left
)
