"""The only place where a node's state changes. `states.TRANSITIONS` lists the transitions allowed."""

from penstock.cluster.raft.core import Core
from penstock.cluster.raft.effects import Answer, LeaderChanged
from penstock.cluster.raft.messages import FetchResponse, VoterChangeResponse
from penstock.cluster.raft.records import kraft_version_batch, leader_change_batch, voters_batch
from penstock.cluster.raft.states import (
    TRANSITIONS,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    State,
    Unattached,
    Voted,
)
from penstock.cluster.raft.values import Address, Election, ReplicaKey
from penstock.protocol.errors import ErrorCode


def _become(core: Core, state: State) -> None:
    before = core.state
    assert type(state) in TRANSITIONS[type(before)], f"{type(before).__name__} to {type(state).__name__}"
    core.state = state
    core.requests.forget_all()
    if isinstance(before, Leader):
        _dismiss(core, before)


def _dismiss(core: Core, leader: Leader) -> None:
    """Answer the requests that only a leader could serve."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    for parked in leader.parked:
        core.emit(Answer(parked.token, FetchResponse(error=error, epoch=core.epoch)))
    if leader.change is not None and leader.change.token is not None:
        core.emit(Answer(leader.change.token, VoterChangeResponse(error=error, epoch=core.epoch)))


def to_unattached(core: Core, epoch: int, deadline_ms: float | None = None) -> None:
    """A later epoch has begun and its leader is not known yet, or the leader of this epoch was lost."""
    if epoch > core.epoch:
        core.persist_election(Election(epoch=epoch))
    _become(core, Unattached(core.election_deadline_ms() if deadline_ms is None else deadline_ms))
    core.emit(LeaderChanged(None, core.epoch))


def to_voted(core: Core, candidate: ReplicaKey) -> None:
    """Give this node's only vote in this epoch."""
    assert core.election.voted is None
    assert core.election.leader_id is None
    core.persist_election(Election(epoch=core.epoch, voted=candidate))
    _become(core, Voted(core.election_deadline_ms()))


def to_prospective(core: Core, retries: int = 0) -> None:
    endpoints = core.leader_endpoints
    _become(core, Prospective(core.election_deadline_ms(), retries, leader_endpoints=endpoints))
    core.emit(LeaderChanged(None, core.epoch))


def to_candidate(core: Core, retries: int) -> None:
    core.persist_election(Election(epoch=core.epoch + 1, voted=core.me))
    _become(core, Candidate(core.election_deadline_ms(), retries))


def to_follower(
    core: Core,
    epoch: int,
    leader_id: int,
    endpoints: tuple[Address, ...],
    deadline_ms: float | None = None,
) -> None:
    is_own_epoch = isinstance(core.state, Leader | Resigned) and epoch == core.epoch
    assert leader_id != core.me.node_id, "a node does not follow itself"
    assert not is_own_epoch, "an epoch has one leader, and this node was it"
    if deadline_ms is None:
        deadline_ms = core.now_ms + core.settings.fetch_timeout_ms
    voted = core.election.voted if epoch == core.epoch else None
    core.persist_election(Election(epoch=epoch, leader_id=leader_id, voted=voted))
    _become(core, Follower(deadline_ms, leader_id, endpoints))
    core.emit(LeaderChanged(leader_id, epoch))


def to_leader(core: Core, granted: set[int]) -> None:
    """Open the epoch with a record: earlier leaders' records are committed only together with it (Raft, 5.4.2)."""
    core.persist_election(Election(epoch=core.epoch, leader_id=core.me.node_id, voted=core.election.voted))
    leader = Leader(core.log.end_offset, core.now_ms)
    _become(core, leader)
    epoch, stamp = core.epoch, core.stamp_ms()
    offset = core.log.end_offset
    voters = core.voters
    batch = leader_change_batch(core.me.node_id, voters, granted, offset=offset, epoch=epoch, timestamp=stamp)
    core.append(batch, epoch, offset + 1)
    if core.voter_history.latest_offset is None:
        # A new quorum: from here on the voters are in its log, and no longer in any node's configuration.
        core.append(kraft_version_batch(offset=offset + 1, epoch=epoch, timestamp=stamp), epoch, offset + 2)
        batch = voters_batch(voters, offset=offset + 2, epoch=epoch, timestamp=stamp)
        core.append(batch, epoch, offset + 3)
        core.voter_history.add(offset + 2, voters)


def to_resigned(core: Core, preferred: tuple[ReplicaKey, ...]) -> None:
    _become(core, Resigned(core.election_deadline_ms(), set(core.other_voters()), preferred))
    core.emit(LeaderChanged(None, core.epoch))
