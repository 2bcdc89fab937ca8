"""The states of a node in the quorum, a class for each, and the table of what may follow what (KIP-595, KIP-996).

An observer is not a state of its own: it is a node that is `Unattached` or a `Follower` and stands in no voter set
that it knows. It does not stand for election, but it may still be asked for its vote, and gives it, because its
knowledge of the voters may be old (KIP-853).

The epoch and the vote are not here but in `values.Election`: they outlive a crash, states do not.
"""

from collections.abc import Mapping

import msgspec

from penstock.cluster.raft.events import Token
from penstock.cluster.raft.messages import FetchRequest
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey


class Unattached:
    """Knows no leader and has not voted in this epoch; stands for election when the timer runs out."""

    __slots__ = ("deadline_ms",)

    def __init__(self, deadline_ms: float) -> None:
        self.deadline_ms = deadline_ms


class Voted:
    """Has given its vote in this epoch, and waits for who won."""

    __slots__ = ("deadline_ms",)

    def __init__(self, deadline_ms: float) -> None:
        self.deadline_ms = deadline_ms


class Ballot:
    """Votes as they come in."""

    __slots__ = ("deadline_ms", "granted", "is_lost", "rejected", "retries")

    def __init__(self, deadline_ms: float, retries: int) -> None:
        self.deadline_ms = deadline_ms
        self.retries = retries
        """How many elections in a row this node has stood in."""
        self.granted: set[int] = set()
        self.rejected: set[int] = set()
        self.is_lost = False
        """It cannot be won any more: at `deadline_ms` comes the next try."""


class Prospective(Ballot):
    """Asks the voters whether they would vote for it; the epoch is not raised, so nobody is disturbed (KIP-996)."""

    __slots__ = ("leader_endpoints",)

    def __init__(self, deadline_ms: float, retries: int, leader_endpoints: tuple[Address, ...]) -> None:
        super().__init__(deadline_ms, retries)
        self.leader_endpoints = leader_endpoints
        """Of the leader that it lost touch with: it goes back there when others still hear of it."""


class Candidate(Ballot):
    """Has raised the epoch, voted for itself, and asks for votes."""

    __slots__ = ()


class SnapshotFetch:
    """A snapshot on its way from the leader."""

    __slots__ = ("is_installing", "position", "snapshot")

    def __init__(self, snapshot: LogPosition) -> None:
        self.snapshot = snapshot
        self.position = 0
        self.is_installing = False


class Follower:
    """Knows the leader of its epoch and fetches from it."""

    __slots__ = (
        "deadline_ms",
        "endpoints",
        "has_fetched",
        "join_at_ms",
        "leader_id",
        "snapshot",
        "update_at_ms",
    )

    def __init__(self, leader_id: int, endpoints: tuple[Address, ...], deadline_ms: float) -> None:
        self.leader_id = leader_id
        self.endpoints = endpoints
        self.deadline_ms = deadline_ms
        self.has_fetched = False
        """Whether the leader has answered a fetch: as long as it does, others' pre-votes are refused."""
        self.snapshot: SnapshotFetch | None = None
        self.join_at_ms = 0.0
        """When to ask next to become a voter."""
        self.update_at_ms = 0.0
        """When to tell the leader next that this voter's endpoints have changed."""


class Progress:
    """How far a replica has fetched from this leader."""

    __slots__ = ("end_offset", "last_caught_up_ms", "last_fetch_ms", "leader_end_offset_then")

    def __init__(self, fetched_ms: float) -> None:
        self.end_offset = -1
        self.last_fetch_ms = fetched_ms
        self.last_caught_up_ms = -1.0
        self.leader_end_offset_then = -1


class ParkedFetch(msgspec.Struct, frozen=True, kw_only=True):
    """A fetch that waits for records, or for news of what is committed."""

    token: Token
    request: FetchRequest
    deadline_ms: float


class VoterChange(msgspec.Struct, kw_only=True):
    """The one change of the voter set that is under way; `offset` is its record's, once it is appended."""

    token: Token
    deadline_ms: float
    joining: ReplicaKey | None = None
    offset: int | None = None
    request: object = None


class Leader:
    """Leads its epoch. Its first record, at `epoch_start_offset`, tells so; nothing commits before that does."""

    __slots__ = (
        "begin_at_ms",
        "change",
        "epoch_start_offset",
        "is_established",
        "later_epoch",
        "later_since_ms",
        "others",
        "parked",
        "since_ms",
    )

    def __init__(self, epoch_start_offset: int, now_ms: float) -> None:
        self.epoch_start_offset = epoch_start_offset
        self.since_ms = now_ms
        self.is_established = False
        """A record of this epoch is committed: only now the voters may be changed, and decisions made."""
        self.others: dict[ReplicaKey, Progress] = {}
        self.parked: list[ParkedFetch] = []
        self.change: VoterChange | None = None
        self.begin_at_ms: dict[int, float] = {}
        """When to tell a voter next that the epoch has begun."""
        self.later_epoch = 0
        """The latest epoch in which a replica wants to fetch, if that is later than this leader's."""
        self.later_since_ms = float("inf")


class Resigned:
    """Led this epoch and leads it no more; tells the voters until they know, or the timer runs out."""

    __slots__ = ("deadline_ms", "preferred", "unaware")

    def __init__(self, deadline_ms: float, unaware: set[int], preferred: tuple[ReplicaKey, ...]) -> None:
        self.deadline_ms = deadline_ms
        self.unaware = unaware
        self.preferred = preferred


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
"""Unattached comes from everywhere: a higher epoch was heard of. Nobody becomes leader but a candidate, nobody a
candidate but who was prospective. A leader follows another only in a later epoch, as `to_follower` sees to.
"""
