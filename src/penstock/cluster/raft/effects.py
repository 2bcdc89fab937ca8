"""What a node of the quorum wants done. Whoever runs it performs the effects of one event in order, one after the
other, before the next event is handled: nothing is sent or answered that a `Persist` before it has not made durable.
"""

import msgspec

from penstock.cluster.raft.events import Token
from penstock.cluster.raft.messages import FetchResponse, FetchSnapshotResponse, Request, Response
from penstock.cluster.raft.values import Address, Election, LogPosition
from penstock.protocol.errors import ErrorCode


class Persist(msgspec.Struct, frozen=True):
    """Write the election state and sync it. If that fails the node must stop: it has promised nothing yet."""

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
    """Append batches that have their offsets, then see to a sync and tell `Synced`."""

    base_offset: int
    batches: bytes


class AppendAnswered(msgspec.Struct, frozen=True):
    """What became of an `AppendRequested`: with NONE it is appended up to `last_offset`, and not committed yet."""

    token: Token
    error: ErrorCode
    last_offset: int = -1


class Truncate(msgspec.Struct, frozen=True):
    """Drop all from `end_offset` on."""

    end_offset: int


class StoreSnapshotChunk(msgspec.Struct, frozen=True):
    """Write bytes of a snapshot that is being fetched; at position 0 it begins anew."""

    snapshot: LogPosition
    position: int
    data: bytes


class InstallSnapshot(msgspec.Struct, frozen=True):
    """The fetched snapshot is whole: sync it, let it replace the log, load it, and hand in `SnapshotInstalled`
    before any other event.
    """

    snapshot: LogPosition


class TakeSnapshot(msgspec.Struct, frozen=True):
    """The log has grown: write down the state as of `snapshot` once that is applied, and tell `SnapshotTaken`."""

    snapshot: LogPosition


class DropPrefix(msgspec.Struct, frozen=True):
    """Let the log start at this snapshot's end; records and snapshots before it may go."""

    snapshot: LogPosition


class Committed(msgspec.Struct, frozen=True):
    """All below `offset` is committed: it may be applied, and told."""

    offset: int


class LeaderChanged(msgspec.Struct, frozen=True):
    """Who leads, as far as this node knows. When it leads itself, it may append in this epoch."""

    leader_id: int | None
    epoch: int


class Left(msgspec.Struct, frozen=True):
    """The node was told to stop, and owes the quorum nothing any more."""


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
