"""The states of a node in the quorum, a class for each, and the table of transitions (KIP-595, KIP-996).

An observer has no separate state: it is `Unattached` or a `Follower`, and in no voter set that it knows. It does not
stand for election. It does vote when asked, because its knowledge of the voters may be old (KIP-853).

The epoch and the vote are in `values.Election`: they survive a crash, states do not.
"""

from collections.abc import Mapping

import msgspec

from penstock.cluster.raft.events import Token
from penstock.cluster.raft.messages import FetchRequest
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey


class _State(msgspec.Struct, eq=False):
    """`deadline_ms` is when the election timer of this state ends."""

    deadline_ms: float


class Unattached(_State):
    """Knows no leader and has not voted in this epoch; stands for election when the timer ends."""


class Voted(_State):
    """Has voted in this epoch, and waits for the winner."""


class Ballot(_State):
    """Collects votes."""

    retries: int
    """The number of elections in a row in which this node has stood."""
    granted: set[int] = msgspec.field(default_factory=set)
    rejected: set[int] = msgspec.field(default_factory=set)
    is_lost: bool = False
    """The ballot cannot be won any more: the next try begins at `deadline_ms`."""


class Prospective(Ballot):
    """Asks the voters for pre-votes. The epoch is not raised, so the other nodes are not disturbed (KIP-996)."""

    leader_endpoints: tuple[Address, ...] = ()
    """The endpoints of the leader that it lost touch with: it returns there if other nodes still hear from it."""


class Candidate(Ballot):
    """Has raised the epoch, voted for itself, and asks for votes."""


class SnapshotFetch(msgspec.Struct, eq=False):
    """A snapshot that is being fetched from the leader."""

    snapshot: LogPosition
    position: int = 0
    is_installing: bool = False


class Follower(_State):
    """Knows the leader of its epoch and fetches from it."""

    leader_id: int
    endpoints: tuple[Address, ...]
    has_fetched: bool = False
    """Whether the leader has answered a fetch: while it does, this node grants no pre-votes."""
    is_caught_up: bool = False
    """Whether this node has had all that the leader had committed at its last answer."""
    snapshot: SnapshotFetch | None = None
    join_at_ms: float = 0.0
    """When to ask next to become a voter."""
    update_at_ms: float = 0.0
    """When to report this voter's new endpoints to the leader next."""


class Progress(msgspec.Struct, eq=False):
    """How far a replica has fetched from this leader."""

    last_fetch_ms: float
    end_offset: int = -1
    last_caught_up_ms: float = -1.0
    leader_end_offset_then: int = -1


class ParkedFetch(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch that waits for records, or for a higher high watermark."""

    token: Token
    request: FetchRequest
    deadline_ms: float


class VoterChange(msgspec.Struct, kw_only=True):
    """The one change of the voter set in progress; `offset` is its record's offset, once appended."""

    token: Token
    deadline_ms: float
    offset: int | None = None
    request: object = None


class Leader(msgspec.Struct, eq=False):
    """Leads its epoch. Nothing is committed before the first record of the epoch, at `epoch_start_offset`."""

    epoch_start_offset: int
    since_ms: float
    is_established: bool = False
    """A record of this epoch is committed: from now on the voters may be changed, and decisions made."""
    others: dict[ReplicaKey, Progress] = msgspec.field(default_factory=dict)
    parked: list[ParkedFetch] = msgspec.field(default_factory=list)
    change: VoterChange | None = None
    begin_at_ms: dict[int, float] = msgspec.field(default_factory=dict)
    """When to send a voter the next BeginQuorumEpoch."""
    later_epoch: int = 0
    """The latest epoch in which a replica wants to fetch, if that is later than this leader's."""
    later_since_ms: float = float("inf")


class Resigned(_State):
    """Led this epoch and has given up; sends EndQuorumEpoch until the `unaware` voters know, or the timer ends."""

    unaware: set[int]
    preferred: tuple[ReplicaKey, ...]


State = Unattached | Voted | Prospective | Candidate | Follower | Leader | Resigned

TRANSITIONS: Mapping[type, frozenset[type]] = {
    Unattached: frozenset({Unattached, Voted, Prospective, Follower}),
    Voted: frozenset({Unattached, Prospective, Follower}),
    Prospective: frozenset({Unattached, Voted, Prospective, Candidate, Follower}),
    Candidate: frozenset({Unattached, Prospective, Follower, Leader}),
    Follower: frozenset({Unattached, Prospective, Follower}),
    Leader: frozenset({Unattached, Follower, Resigned}),
    Resigned: frozenset({Unattached, Prospective, Follower}),
}
"""Any state becomes Unattached when the node hears of a higher epoch. Only a candidate becomes leader, and only a
prospective node becomes a candidate. A leader follows another only in a later epoch: `to_follower` asserts that.
"""
