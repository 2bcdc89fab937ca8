"""The state of a node: identity, promises, log, role, and the effects of the event that is being handled.

`elections`, `following`, `leading` and `membership` are functions over it; only `transitions` changes the role.
"""

import random
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.cluster.raft.effects import Append, Committed, Effect, Persist, Send
from penstock.cluster.raft.epochs import EPOCH_MAX, epoch_ceiling
from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import Request, Response
from penstock.cluster.raft.requests import Requests
from penstock.cluster.raft.states import Follower, Leader, State, Unattached
from penstock.cluster.raft.values import Address, Election, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterHistory, VoterSet
from penstock.protocol.errors import ErrorCode

R = TypeVar("R", bound=Response)

BOOTSTRAP_ID_FIRST = -2


class Core:
    def __init__(
        self,
        me: ReplicaKey,
        cluster_id: str,
        *,
        election: Election,
        log: LogShape,
        voter_history: VoterHistory,
        settings: RaftSettings,
        randomness: random.Random,
        stamp_ms: Callable[[], int],
        endpoints: tuple[Address, ...] = (),
        bootstrap: tuple[Address, ...] = (),
        bytes_since_snapshot: int = 0,
    ) -> None:
        """`stamp_ms` is the wall clock for the quorum's own records. An observer asks `bootstrap` first."""
        self.me = me
        self.cluster_id = cluster_id
        self.election = election
        self.log = log
        self.voter_history = voter_history
        self.settings = settings
        self.randomness = randomness
        self.stamp_ms = stamp_ms
        self.endpoints = endpoints
        self.bootstrap = bootstrap
        self.bytes_since_snapshot = bytes_since_snapshot
        self.is_snapshot_wanted = False
        self.is_leaving = False
        self.has_been_voter = False
        self.now_ms = 0.0
        self.led_ms = 0.0
        """The last time that there was a leader: this node, or a leader that answered its fetch."""
        self.fault: RaftFault | None = None
        """The last message of a peer that no correct peer sends. It changed nothing."""
        self.high_watermark = log.snapshots[-1].offset if log.snapshots else 0
        """All records below are committed: a snapshot holds committed state only."""
        self.requests = Requests(settings.request_timeout_ms, settings.retry_backoff_ms)
        self.state: State = Unattached(float("inf"))
        self.effects: list[Effect] = []

    @property
    def epoch(self) -> int:
        return self.election.epoch

    @property
    def voters(self) -> VoterSet:
        return self.voter_history.latest

    @property
    def is_voter(self) -> bool:
        return self.voters.has(self.me)

    @property
    def may_be_candidate(self) -> bool:
        """Whether this node may become a candidate: it is a voter, or its removal is not known to be committed.

        The log that holds the removal may be the only one that can win (Ongaro's thesis, 4.2.2).
        """
        return self.is_voter or (self.has_uncommitted_voters and self.voter_history.before.has(self.me))

    @property
    def is_removed(self) -> bool:
        """Whether this node was removed from the voters since its start. It does not rejoin automatically."""
        return self.has_been_voter and not self.is_voter

    @property
    def has_uncommitted_voters(self) -> bool:
        """Whether the record of the current voters is not known to be committed."""
        offset = self.voter_history.latest_offset
        return offset is not None and offset >= self.high_watermark

    def is_voter_known(self, key: ReplicaKey) -> bool:
        """Whether a replica is a voter in any set that this node knows: a peer may know only an older one."""
        return any(voters.has(key) for voters in self.voter_history.sets)

    def is_voter_id_known(self, node_id: int) -> bool:
        return any(voters.get(node_id) is not None for voters in self.voter_history.sets)

    def may_take(self, epoch: int) -> bool:
        """Whether to accept a peer's epoch: an earlier one changes nothing, a later one is bounded."""
        return epoch <= self.epoch or epoch <= epoch_ceiling(self.stamp_ms())

    def reject(self, reason: str) -> None:
        """Record, for the log, why a peer's message was ignored."""
        self.fault = RaftFault(reason)

    def take_fault(self) -> RaftFault | None:
        """Return the fault once, to be logged."""
        fault, self.fault = self.fault, None
        return fault

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def response(self, kind: type[R], error: ErrorCode = ErrorCode.NONE, **fields: Any) -> R:
        """Make a response that contains the epoch and the leader of this node."""
        return kind(
            error=error,
            epoch=self.epoch,
            leader_id=self.leader_id,
            leader_endpoints=self.leader_endpoints,
            **fields,
        )

    def persist_election(self, election: Election) -> None:
        """Change the durable state; it is synced before any later effect is performed."""
        if election != self.election:
            assert 0 <= election.epoch <= EPOCH_MAX, f"epoch {election.epoch} cannot be followed by another"
            self.election = election
            if self.effects and isinstance(self.effects[-1], Persist):
                self.effects.pop()  # no effect in between: one sync for both
            self.emit(Persist(election))

    def send(self, to: int, request: Request, addresses: tuple[Address, ...] = ()) -> None:
        request_id = self.requests.begin(to, type(request), self.now_ms)
        voter = self.voters.get(to)
        if not addresses and voter is not None:
            addresses = voter.endpoints
        self.emit(Send(request_id, to, addresses, request))

    def append(self, batches: bytes, epoch: int, next_offset: int) -> None:
        """Append batches of one epoch, which have their offsets."""
        self.emit(Append(self.log.end_offset, batches))
        self.log.append(epoch, next_offset)
        self.bytes_since_snapshot += len(batches)

    def commit(self, offset: int) -> None:
        """Advance the high watermark to `offset`."""
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.emit(Committed(offset))

    def election_deadline_ms(self) -> float:
        """A random deadline, so that two nodes rarely stand for election together."""
        return self.now_ms + self.settings.election_timeout_ms * (1 + self.randomness.random())

    def other_voters(self) -> list[int]:
        return [each for each in self.voters.ids if each != self.me.node_id]

    @property
    def leader_id(self) -> int | None:
        """The current leader, if this node knows it."""
        return self.election.leader_id if isinstance(self.state, Leader | Follower) else None

    @property
    def leader_endpoints(self) -> tuple[Address, ...]:
        """The endpoints of that leader."""
        if isinstance(self.state, Leader):
            return self.endpoints
        if not isinstance(self.state, Follower):
            return ()
        voter = self.voters.get(self.state.leader_id)
        return self.state.endpoints or (voter.endpoints if voter is not None else ())
