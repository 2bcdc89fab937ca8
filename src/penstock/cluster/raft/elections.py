"""Elections and votes. A pre-vote comes first, so that a node that was cut off disturbs no others (KIP-996)."""

from penstock.cluster.raft.core import Core
from penstock.cluster.raft.epochs import EPOCH_MAX
from penstock.cluster.raft.leading import note_later_epoch
from penstock.cluster.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from penstock.cluster.raft.states import (
    Ballot,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    Voted,
)
from penstock.cluster.raft.transitions import (
    to_candidate,
    to_follower,
    to_leader,
    to_prospective,
    to_unattached,
    to_voted,
)
from penstock.cluster.raft.values import Address, LogPosition, ReplicaKey
from penstock.protocol.errors import ErrorCode

_RETRIES_DOUBLED_MAX = 10
SILENT_FETCH_TIMEOUTS = 5
"""The time without a leader, after which a node follows a leader that is in no voter set it knows."""


# -- standing -----------------------------------------------------------------------------------------


def start_election(core: Core) -> None:
    """Begin an election, if this node may: with a ballot of one it has won at once."""
    if not core.may_be_candidate or core.is_leaving:
        _wait_for_leader(core)
        return
    if core.epoch >= EPOCH_MAX:
        core.reject(f"epoch {core.epoch} is the last one: no more elections are possible")
        _wait_for_leader(core)
        return
    retries = core.state.retries + 1 if isinstance(core.state, Ballot) else 0
    to_prospective(core, retries)
    _note_vote(core, core.me.node_id, is_granted=True)


def _wait_for_leader(core: Core) -> None:
    """Wait for a leader: this node may not stand for election."""
    if isinstance(core.state, Unattached):
        core.state.deadline_ms = core.election_deadline_ms()
    else:
        to_unattached(core, core.epoch)


def poll_ballot(core: Core, ballot: Ballot) -> None:
    """Ask the voters that have not answered; at the deadline, try again or return to the last leader."""
    if core.now_ms >= ballot.deadline_ms:
        _end_ballot(core, ballot)
        return
    if ballot.is_lost:
        return
    for node_id in core.other_voters():
        if node_id in ballot.granted or node_id in ballot.rejected:
            continue
        if core.requests.is_ready(node_id, VoteRequest, core.now_ms):
            voter = core.voters.get(node_id)
            core.send(
                node_id,
                VoteRequest(
                    cluster_id=core.cluster_id,
                    voter=None if voter is None else voter.key,
                    candidate=core.me,
                    epoch=core.epoch,
                    last=core.log.end,
                    is_pre_vote=isinstance(ballot, Prospective),
                ),
            )


def _end_ballot(core: Core, ballot: Ballot) -> None:
    leader_id = core.election.leader_id
    if isinstance(ballot, Prospective) and leader_id is not None and leader_id != core.me.node_id:
        # Other nodes may still hear from the leader: try it again, for a shorter time.
        deadline_ms = core.now_ms + core.settings.election_timeout_ms * (0.5 + core.randomness.random() / 2)
        to_follower(core, core.epoch, leader_id, ballot.leader_endpoints, deadline_ms)
    else:
        start_election(core)


def note_vote_response(core: Core, source: int, response: VoteResponse) -> None:
    if isinstance(core.state, Ballot) and core.voters.get(source) is not None:
        _note_vote(core, source, is_granted=response.is_granted)


def note_refusal(core: Core, source: int) -> None:
    """Count a refused connection as a rejected vote: if the ballot is lost, do not wait."""
    if isinstance(core.state, Ballot) and core.voters.get(source) is not None:
        _note_vote(core, source, is_granted=False)


def _note_vote(core: Core, node_id: int, *, is_granted: bool) -> None:
    ballot = core.state
    assert isinstance(ballot, Ballot)
    (ballot.granted if is_granted else ballot.rejected).add(node_id)
    majority = core.voters.majority
    granted = {each for each in ballot.granted if core.voters.get(each) is not None}
    if len(granted) >= majority:
        _win(core, ballot, granted)
    elif not ballot.is_lost and len(ballot.rejected) > len(core.voters) - majority:
        ballot.is_lost = True
        ballot.deadline_ms = core.now_ms + _backoff_ms(core, ballot.retries)


def _win(core: Core, ballot: Ballot, granted: set[int]) -> None:
    if isinstance(ballot, Prospective):
        to_candidate(core, ballot.retries)
        _note_vote(core, core.me.node_id, is_granted=True)
    else:
        to_leader(core, granted)


def _backoff_ms(core: Core, retries: int) -> float:
    """Random and longer each time: two candidates that split the votes must not collide again."""
    longest_ms = core.settings.retry_backoff_ms << min(retries + 1, _RETRIES_DOUBLED_MAX)
    return min(core.settings.election_backoff_max_ms, longest_ms) * core.randomness.random()


# -- voting -------------------------------------------------------------------------------------------


def answer_vote(core: Core, request: VoteRequest) -> VoteResponse:
    error = _vote_error(core, request)
    if error is ErrorCode.NONE:
        if request.epoch > core.epoch:
            to_unattached(core, request.epoch)
        if not is_meant_for(core, request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
    is_granted = error is ErrorCode.NONE and _grant(core, request)
    return core.response(VoteResponse, error, is_granted=is_granted)


def _vote_error(core: Core, request: VoteRequest) -> ErrorCode:
    last = request.last
    # A candidate has raised the epoch above its last record's; a prospective candidate has not yet.
    epoch_min = last.epoch if request.is_pre_vote else last.epoch + 1
    if last.offset < 0 or last.epoch < 0 or request.epoch < epoch_min or request.candidate.node_id < 0:
        return ErrorCode.INVALID_REQUEST
    if request.epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    who = f"Vote of node {request.candidate.node_id}"
    if not _is_in_range(core, request.epoch, who):
        return ErrorCode.INVALID_REQUEST
    if core.voters.is_only(core.me) and not core.is_voter_known(request.candidate):
        # No other node can become a candidate without the pre-vote of the only voter.
        core.reject(f"refused {who}: it is not a voter, and this node is the only voter")
        note_later_epoch(core, request.epoch)  # it may have been a voter long ago
        return ErrorCode.INCONSISTENT_VOTER_SET
    return ErrorCode.NONE


def _is_in_range(core: Core, epoch: int, who: str) -> bool:
    if core.may_take(epoch):
        return True
    core.reject(f"refused {who}: epoch {epoch} is out of range, this node is in epoch {core.epoch}")
    return False


def _grant(core: Core, request: VoteRequest) -> bool:
    if not may_be_voter(core, request):
        return False
    if request.is_pre_vote:
        return _would_vote(core) and is_up_to_date(core, request.last)
    if core.election.voted is not None:
        # Repeat the same vote: the answer may have been lost. A candidate asks again only in a later epoch.
        return core.election.voted == request.candidate
    if core.election.leader_id is not None or not isinstance(core.state, Unattached | Prospective):
        return False
    if not is_up_to_date(core, request.last):
        return False
    to_voted(core, request.candidate)
    return True


def _would_vote(core: Core) -> bool:
    """Whether to grant a pre-vote: not while this node leads, has led this epoch, or hears from the leader."""
    state = core.state
    if isinstance(state, Follower):
        return not state.has_fetched
    return not isinstance(state, Leader | Resigned)


def is_up_to_date(core: Core, last: LogPosition) -> bool:
    """Whether a log that ends at `last` has all committed records (Raft, 5.4.1)."""
    return last >= core.log.end


def may_be_voter(core: Core, request: VoteRequest) -> bool:
    """Whether the candidate is a voter in a set that this node has, or may be in a set that it lacks.

    A log that ends at the same position is the same log, with the same voters.
    """
    return (
        core.is_voter_known(request.candidate) or core.voter_history.is_empty or request.last > core.log.end
    )


def is_meant_for(core: Core, voter: ReplicaKey | None) -> bool:
    """Whether a request is for this replica, and not for a replica with this id that lost its disk."""
    if voter is None:
        return True
    return voter.node_id == core.me.node_id and voter.directory_id in (core.me.directory_id, bytes(16))


# -- begin and end of epochs ------------------------------------------------------------------------


def learn(
    core: Core,
    epoch: int,
    leader_id: int | None,
    endpoints: tuple[Address, ...],
    *,
    is_first_hand: bool = False,
) -> None:
    """Adopt the epoch and leader that a peer reports, unless they are older than this node's."""
    if epoch < core.epoch or leader_id == core.me.node_id:
        if epoch > core.epoch:
            to_unattached(core, epoch)
        return
    if epoch > core.epoch:
        if leader_id is None:
            to_unattached(core, epoch)
        else:
            to_follower(core, epoch, leader_id, endpoints)
    elif leader_id is not None and isinstance(core.state, Unattached | Voted | Candidate | Prospective):
        # A voter that has lost this leader follows it again only when the leader itself sends a request.
        is_lost = leader_id == core.election.leader_id and core.may_be_candidate
        if is_first_hand or not is_lost:
            to_follower(core, epoch, leader_id, endpoints)


def _leader_error(core: Core, epoch: int, leader_id: int, what: str) -> ErrorCode:
    """The error for a node that claims to lead, or to have led; NONE if it may."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    who = f"{what} of node {leader_id}"
    if leader_id < 0 or leader_id == core.me.node_id or not _is_in_range(core, epoch, who):
        return ErrorCode.INVALID_REQUEST
    if not _may_lead(core, epoch, leader_id):
        core.reject(f"refused {who} for epoch {epoch}: it is not a voter that this node knows")
        return ErrorCode.INCONSISTENT_VOTER_SET
    return ErrorCode.NONE


def _may_lead(core: Core, epoch: int, leader_id: int) -> bool:
    """Whether a node may be the leader that it claims to be.

    A node in no voter set known here may be in a later set (KIP-853). Unless this node voted for it, it learns that
    from the voters that it knows. If these have been silent for long, all of them may have been replaced. The only
    voter cannot have missed that: no later set is committed without it.
    """
    voted = core.election.voted
    if core.is_voter_id_known(leader_id) or core.voter_history.is_empty:
        return True
    if epoch == core.epoch and voted is not None and voted.node_id == leader_id:
        return True
    silence_ms = core.settings.fetch_timeout_ms * SILENT_FETCH_TIMEOUTS
    return not core.voters.is_only(core.me) and core.now_ms - core.led_ms >= silence_ms


def answer_begin(core: Core, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
    error = _leader_error(core, request.epoch, request.leader_id, "BeginQuorumEpoch")
    if error is ErrorCode.NONE:
        learn(core, request.epoch, request.leader_id, request.endpoints, is_first_hand=True)
        if isinstance(core.state, Follower) and core.state.leader_id == request.leader_id:
            core.state.deadline_ms = core.now_ms + core.settings.fetch_timeout_ms
        if not is_meant_for(core, request.voter):
            error = ErrorCode.INVALID_VOTER_KEY
    return BeginQuorumEpochResponse(error=error, epoch=core.epoch, leader_id=core.leader_id)


def answer_end(core: Core, request: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
    """The leader of this epoch resigns: stand for election, sooner the higher it prefers this node."""
    error = _leader_error(core, request.epoch, request.leader_id, "EndQuorumEpoch")
    if error is ErrorCode.NONE:
        learn(core, request.epoch, request.leader_id, request.endpoints)
        state = core.state
        if isinstance(state, Follower) and state.leader_id == request.leader_id:
            to_unattached(core, core.epoch, core.now_ms + _succession_ms(core, request.preferred))
    return EndQuorumEpochResponse(error=error, epoch=core.epoch, leader_id=core.leader_id)


def _succession_ms(core: Core, preferred: tuple[ReplicaKey, ...]) -> float:
    """The delay before this node stands: none for the first, the longest for the last, halved for each before it."""
    longest_ms = core.settings.election_backoff_max_ms
    if core.me not in preferred:
        return longest_ms * (1 + core.randomness.random())
    place = preferred.index(core.me)
    return 0.0 if place == 0 else longest_ms / 2 ** (len(preferred) - 1 - place)
