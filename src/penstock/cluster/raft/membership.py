"""Changing the voters, one at a time (KIP-853).

A change is one VotersRecord that adds, removes or updates one voter. It begins only when a record of this leader's
epoch is committed and no earlier change is uncommitted: then the majorities of any two voter sets that can be in force
at the same time have a voter in common.
"""

from penstock.cluster.raft import records
from penstock.cluster.raft.core import Core
from penstock.cluster.raft.effects import Answer
from penstock.cluster.raft.events import Token
from penstock.cluster.raft.leading import (
    leader_error,
    progress_of,
    serve_parked,
    update_high_watermark,
)
from penstock.cluster.raft.messages import (
    AddVoterRequest,
    DescribeQuorumResponse,
    RemoveVoterRequest,
    ReplicaProgress,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from penstock.cluster.raft.states import Leader, Progress, VoterChange
from penstock.cluster.raft.values import ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.errors import ErrorCode

CHANGE_TIMEOUT_MS = 10_000


def _refuse(core: Core, token: Token, error: ErrorCode, message: str) -> None:
    core.emit(Answer(token, core.response(VoterChangeResponse, error, message=message)))


def _ready_leader(core: Core, token: Token) -> Leader | None:
    """The leader's state, if the voters can be changed now; else the request is answered."""
    leader = core.state
    if not isinstance(leader, Leader):
        _refuse(core, token, ErrorCode.NOT_LEADER_OR_FOLLOWER, "this node does not lead the metadata quorum")
    elif not leader.is_established:
        _refuse(
            core, token, ErrorCode.REQUEST_TIMED_OUT, "the new leader has committed nothing yet: try again"
        )
    elif is_change_pending(core, leader):
        _refuse(
            core, token, ErrorCode.REQUEST_TIMED_OUT, "another change of the voters is in progress: try again"
        )
    else:
        return leader
    return None


def is_change_pending(core: Core, leader: Leader) -> bool:
    return leader.change is not None or core.has_uncommitted_voters


def add_arrived(core: Core, token: Token, request: AddVoterRequest) -> None:
    leader = _ready_leader(core, token)
    if leader is None:
        return
    key = request.voter.key
    known = core.voters.get(key.node_id)
    if known is not None:
        _refuse(
            core, token, ErrorCode.DUPLICATE_VOTER, f"node {key.node_id} is a voter already: remove it first"
        )
        return
    deadline_ms = core.now_ms + min(max(request.timeout_ms, 0), CHANGE_TIMEOUT_MS)
    leader.change = VoterChange(token=token, deadline_ms=deadline_ms, request=request)
    poll_change(core, leader)


def remove_arrived(core: Core, token: Token, request: RemoveVoterRequest) -> None:
    leader = _ready_leader(core, token)
    if leader is None:
        return
    node_id = request.voter.node_id
    remaining = core.voters.without(node_id)
    if not core.voters.has(request.voter):
        _refuse(core, token, ErrorCode.VOTER_NOT_FOUND, f"node {node_id} with that directory is not a voter")
    elif not remaining:
        _refuse(
            core, token, ErrorCode.INVALID_REQUEST, f"node {node_id} is the only voter: add another first"
        )
    elif (heard := len(heard_voters(core, leader, remaining))) < remaining.majority:
        # Kafka accepts it, and then can never commit the removal or anything after it.
        message = f"only {heard} of the {len(remaining)} voters that were left answer: bring one back first"
        _refuse(core, token, ErrorCode.INVALID_REQUEST, message)
    else:
        leader.change = VoterChange(token=token, deadline_ms=core.now_ms + CHANGE_TIMEOUT_MS)
        _append_voters(core, leader, leader.change, remaining)


def heard_voters(core: Core, leader: Leader, voters: VoterSet) -> set[int]:
    """The voters that have fetched lately, and the leader itself."""
    since_ms = core.now_ms - core.settings.fetch_timeout_ms
    heard = {core.me.node_id} & set(voters.ids)
    for voter in voters:
        progress = progress_of(leader, voter.key)
        if progress is not None and progress.end_offset >= 0 and progress.last_fetch_ms >= since_ms:
            heard.add(voter.key.node_id)
    return heard


def update_arrived(core: Core, token: Token, request: UpdateVoterRequest) -> None:
    error = leader_error(core, request.epoch)
    if error is not ErrorCode.NONE:
        _refuse(core, token, error, "this node does not lead that epoch")
        return
    leader = _ready_leader(core, token)
    if leader is None:
        return
    if not core.voters.has(request.voter.key):
        _refuse(core, token, ErrorCode.VOTER_NOT_FOUND, f"node {request.voter.key.node_id} is not a voter")
        return
    leader.change = VoterChange(token=token, deadline_ms=core.now_ms + CHANGE_TIMEOUT_MS)
    _append_voters(core, leader, leader.change, core.voters.with_voter(request.voter))


def poll_change(core: Core, leader: Leader) -> None:
    """Continue the pending change: add a new voter when it has caught up, answer when the change is committed."""
    change = leader.change
    if change is None:
        return
    if change.offset is not None:
        if core.high_watermark > change.offset:
            _finish(core, leader, change)
        elif core.now_ms >= change.deadline_ms and change.token is not None:
            # It is in the log and may still be committed: no other change begins before that is decided.
            token, change.token = change.token, None
            _refuse(core, token, ErrorCode.REQUEST_TIMED_OUT, "the change is not committed yet")
            change.deadline_ms = float("inf")
        return
    request = change.request
    assert isinstance(request, AddVoterRequest)
    if is_caught_up(core, leader, request.voter.key):
        _append_voters(core, leader, change, core.voters.with_voter(request.voter))
        if leader.change is change and not request.ack_when_committed:
            token, change.token = change.token, None
            _accept(core, token)
    elif core.now_ms >= change.deadline_ms:
        leader.change = None
        message = f"node {request.voter.key.node_id} has not caught up with the log in time"
        _refuse(core, change.token, ErrorCode.REQUEST_TIMED_OUT, message)


def is_caught_up(core: Core, leader: Leader, key: ReplicaKey) -> bool:
    """Whether a new voter has caught up: a voter far behind would count for the majority without helping it."""
    progress = leader.others.get(key)
    return progress is not None and progress.last_caught_up_ms >= core.now_ms - core.settings.fetch_timeout_ms


def _append_voters(core: Core, leader: Leader, change: VoterChange, voters: VoterSet) -> None:
    """Append a voter set. It is in force from now on, committed or not."""
    offset = core.log.end_offset
    change.offset = offset
    batch = records.voters_batch(voters, offset=offset, epoch=core.epoch, timestamp=core.stamp_ms())
    core.append(batch, core.epoch, offset + 1)
    core.voter_history.add(offset, voters)
    for voter in voters:
        if voter.key != core.me and progress_of(leader, voter.key) is None:
            leader.others[voter.key] = Progress(core.now_ms)
    serve_parked(core)
    update_high_watermark(core, leader)


def _finish(core: Core, leader: Leader, change: VoterChange) -> None:
    leader.change = None
    if change.token is not None:
        _accept(core, change.token)


def _accept(core: Core, token: Token) -> None:
    core.emit(Answer(token, VoterChangeResponse(epoch=core.epoch, leader_id=core.leader_id)))


# -- description ---------------------------------------------------------------------------------------


def describe(core: Core) -> DescribeQuorumResponse:
    leader = core.state
    if not isinstance(leader, Leader):
        return core.response(DescribeQuorumResponse, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    voters = [_progress(core, leader, voter.key) for voter in core.voters]
    observers = [_progress(core, leader, key) for key in leader.others if not core.voters.has(key)]
    if not core.is_voter:
        observers.append(_progress(core, leader, core.me))
    return DescribeQuorumResponse(
        epoch=core.epoch,
        leader_id=core.me.node_id,
        high_watermark=core.high_watermark,
        voters=tuple(voters),
        observers=tuple(observers),
        endpoints=tuple(core.voters),
    )


def _progress(core: Core, leader: Leader, key: ReplicaKey) -> ReplicaProgress:
    stamp_ms = core.stamp_ms()
    if key.node_id == core.me.node_id:
        return ReplicaProgress(
            key=core.me,
            log_end_offset=core.log.end_offset,
            last_fetch_ms=stamp_ms,
            last_caught_up_ms=stamp_ms,
        )
    found = progress_of(leader, key)
    if found is None or found.end_offset < 0:
        return ReplicaProgress(key=key, log_end_offset=-1, last_fetch_ms=-1, last_caught_up_ms=-1)

    def to_wall_clock(at_ms: float) -> int:
        return -1 if at_ms < 0 else int(stamp_ms - (core.now_ms - at_ms))

    return ReplicaProgress(
        key=key,
        log_end_offset=found.end_offset,
        last_fetch_ms=to_wall_clock(found.last_fetch_ms),
        last_caught_up_ms=to_wall_clock(found.last_caught_up_ms),
    )
