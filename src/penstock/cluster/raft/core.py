"""What all parts of a node share: identity, promises, log, state, and the effects of the event in hand.

The parts (`elections`, `following`, `leading`, `membership`) are functions over it; `transitions` alone changes the
state.
"""

import random
from collections.abc import Callable

from penstock.cluster.raft.effects import Append, Committed, Effect, Persist, Send
from penstock.cluster.raft.epochs import EPOCH_MAX, epoch_ceiling
from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import Request
from penstock.cluster.raft.requests import Requests
from penstock.cluster.raft.states import Follower, Leader, State, Unattached
from penstock.cluster.raft.values import Address, Election, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterHistory, VoterSet

BOOTSTRAP_ID_FIRST = -2


class Core:
    __slots__ = (
        "bootstrap",
        "bytes_since_snapshot",
        "cluster_id",
        "effects",
        "election",
        "endpoints",
        "fault",
        "has_been_voter",
        "high_watermark",
        "is_leaving",
        "is_snapshot_wanted",
        "led_ms",
        "log",
        "me",
        "now_ms",
        "randomness",
        "requests",
        "settings",
        "stamp_ms",
        "state",
        "voter_history",
    )

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
        """When there was last a leader: this node, or one that answered its fetch."""
        self.fault: RaftFault | None = None
        """What a peer last said that no correct peer says."""
        self.high_watermark = log.snapshots[-1].offset if log.snapshots else 0
        """All below is committed: a snapshot holds committed state only."""
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
    def may_stand(self) -> bool:
        """Whether this node may lead: a voter, or one whose removal is not known to be committed.

        The log that holds the removal may be the only one that can win (Ongaro's thesis, 4.2.2).
        """
        return self.is_voter or (self.has_uncommitted_voters and self.voter_history.before.has(self.me))

    @property
    def is_removed(self) -> bool:
        """Whether somebody took this node's vote since it was started. It does not take it back by itself."""
        return self.has_been_voter and not self.is_voter

    @property
    def has_uncommitted_voters(self) -> bool:
        """Whether the voters that are in force stand in the log and are not known to be committed."""
        offset = self.voter_history.latest_offset
        return offset is not None and offset >= self.high_watermark

    def is_voter_known(self, key: ReplicaKey) -> bool:
        """Whether a replica is a voter in any set that this node knows: a peer may know only an older one."""
        return any(voters.has(key) for voters in self.voter_history.sets)

    def is_voter_id_known(self, node_id: int) -> bool:
        return any(voters.get(node_id) is not None for voters in self.voter_history.sets)

    def may_take(self, epoch: int) -> bool:
        """Whether a peer's epoch is believed: an earlier one changes nothing, a later one is bounded."""
        return epoch <= self.epoch or epoch <= epoch_ceiling(self.stamp_ms())

    def reject(self, reason: str) -> None:
        """Note for the log why a peer's word was not taken in."""
        self.fault = RaftFault(reason)

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def promise(self, election: Election) -> None:
        """Change what must not be forgotten; it is durable before any later effect is performed."""
        if election != self.election:
            assert 0 <= election.epoch <= EPOCH_MAX, f"epoch {election.epoch} cannot be followed by another"
            self.election = election
            if self.effects and isinstance(self.effects[-1], Persist):
                self.effects.pop()  # nothing came in between: one sync for both
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
        """All below `offset` is known to be committed."""
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.emit(Committed(offset))

    def election_deadline_ms(self) -> float:
        """Random, so that two nodes seldom stand for election at once."""
        return self.now_ms + self.settings.election_timeout_ms * (1 + self.randomness.random())

    def other_voters(self) -> list[int]:
        return [each for each in self.voters.ids if each != self.me.node_id]

    @property
    def leader_id(self) -> int | None:
        """Who leads now, as far as this node knows."""
        return self.election.leader_id if isinstance(self.state, Leader | Follower) else None

    @property
    def leader_endpoints(self) -> tuple[Address, ...]:
        """Where that leader listens."""
        if isinstance(self.state, Leader):
            return self.endpoints
        if not isinstance(self.state, Follower):
            return ()
        voter = self.voters.get(self.state.leader_id)
        return self.state.endpoints or (voter.endpoints if voter is not None else ())
