"""Leading: serve fetches, advance the high watermark, resign when the majority is silent (KIP-595, KIP-835)."""

from penstock.cluster.raft import records
from penstock.cluster.raft.core import Core
from penstock.cluster.raft.effects import (
    Answer,
    AnswerWithRecords,
    AnswerWithSnapshot,
    AppendAnswered,
    LeaderChanged,
)
from penstock.cluster.raft.events import AppendRequested, Token
from penstock.cluster.raft.log_shape import Diverging, NeedsSnapshot
from penstock.cluster.raft.messages import (
    HIGH_WATERMARK_UNKNOWN,
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from penstock.cluster.raft.states import Leader, ParkedFetch, Progress
from penstock.cluster.raft.transitions import to_resigned, to_unattached
from penstock.cluster.raft.values import ReplicaKey
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.errors import ErrorCode

CHECK_QUORUM_FETCH_TIMEOUTS = 1.5
"""The leader resigns a little after its followers stand for election (the factor is KRaft's)."""
OBSERVER_SILENCE_MS_MAX = 5 * 60_000
_LEADS_FETCH_TIMEOUTS_MIN = 2
"""The minimum time in office before a leader resigns for the sake of a replica in a later epoch."""


def append_requested(core: Core, event: AppendRequested) -> None:
    if not isinstance(core.state, Leader) or event.epoch != core.epoch:
        core.emit(AppendAnswered(event.token, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return
    batches, next_offset = records.number_batches(event.batches, offset=core.log.end_offset, epoch=core.epoch)
    core.append(bytes(batches), core.epoch, next_offset)
    core.emit(AppendAnswered(event.token, ErrorCode.NONE, next_offset - 1))
    serve_parked(core)


# -- the high watermark -------------------------------------------------------------------------------


def update_high_watermark(core: Core, leader: Leader) -> None:
    """Commit the records that a majority has on disk, if they reach into this epoch (Raft, 5.4.2)."""
    offset = replicated_offset(core, leader, core.voters)
    if offset > leader.epoch_start_offset and offset > core.high_watermark:
        core.commit(offset)
        if not leader.is_established:
            leader.is_established = True
            core.emit(LeaderChanged(core.me.node_id, core.epoch))
        serve_parked(core)


def replicated_offset(core: Core, leader: Leader, voters: VoterSet) -> int:
    """The offset up to which a majority of `voters` has the records on disk."""
    ends = [_end_offset_of(core, leader, voter.key) for voter in voters]
    ends.sort(reverse=True)
    return ends[voters.majority - 1] if ends else -1


def _end_offset_of(core: Core, leader: Leader, key: ReplicaKey) -> int:
    if key.node_id == core.me.node_id:
        return core.log.synced_offset if core.voters.has(core.me) else -1
    progress = progress_of(leader, key)
    return -1 if progress is None else progress.end_offset


def progress_of(leader: Leader, key: ReplicaKey) -> Progress | None:
    """The progress of a voter. One without a recorded directory id is matched by its node id, if that is unique."""
    found = leader.others.get(key)
    if found is None and key == ReplicaKey(key.node_id):
        named = [each for known, each in leader.others.items() if known.node_id == key.node_id]
        found = named[0] if len(named) == 1 else None
    return found


# -- fetches ------------------------------------------------------------------------------------------


def leader_error(core: Core, epoch: int) -> ErrorCode:
    """The error for a follower of `epoch`; NONE when this node can serve it."""
    if epoch < core.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > core.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE if isinstance(core.state, Leader) else ErrorCode.NOT_LEADER_OR_FOLLOWER


def fetch_arrived(core: Core, token: Token, request: FetchRequest) -> None:
    error = leader_error(core, request.epoch)
    if error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        note_later_epoch(core, request.epoch)
    if error is ErrorCode.NONE and (request.offset < 0 or not 0 <= request.last_epoch <= request.epoch):
        error = ErrorCode.INVALID_REQUEST
    leader = core.state
    if error is not ErrorCode.NONE or not isinstance(leader, Leader):
        core.emit(Answer(token, core.response(FetchResponse, error)))
        return
    found = core.log.compare(request.offset, request.last_epoch)
    _note_heard(core, leader, request.replica)
    if found is not None:
        core.emit(Answer(token, _fetch_response(core, found)))
        return
    _note_fetched(core, leader, request)
    update_high_watermark(core, leader)
    if _is_worth_an_answer(core, request) or request.max_wait_ms <= 0:
        _answer(core, token, request)
    else:
        deadline_ms = core.now_ms + min(request.max_wait_ms, core.settings.fetch_wait_max_ms)
        leader.parked.append(ParkedFetch(token=token, request=request, deadline_ms=deadline_ms))


def _note_heard(core: Core, leader: Leader, replica: ReplicaKey) -> None:
    if replica.node_id < 0 or replica == core.me:
        return  # a consumer, or an invalid id
    progress = leader.others.get(replica)
    if progress is None:
        leader.others[replica] = Progress(core.now_ms)
    else:
        progress.last_fetch_ms = core.now_ms


def _note_fetched(core: Core, leader: Leader, request: FetchRequest) -> None:
    progress = leader.others.get(request.replica)
    if progress is None:
        return
    progress.end_offset = request.offset
    if request.offset >= core.log.end_offset or request.offset >= progress.leader_end_offset_then >= 0:
        progress.last_caught_up_ms = core.now_ms
    progress.leader_end_offset_then = core.log.end_offset


def _is_worth_an_answer(core: Core, request: FetchRequest) -> bool:
    """Whether there are records, or a higher high watermark for a follower that sends its own (KIP-1166)."""
    if request.offset < core.log.end_offset:
        return True
    return request.high_watermark != HIGH_WATERMARK_UNKNOWN and request.high_watermark < core.high_watermark


def _answer(core: Core, token: Token, request: FetchRequest) -> None:
    response = _fetch_response(core, None)
    if request.offset >= core.log.end_offset:
        core.emit(Answer(token, response))
    else:
        limit = core.log.end_offset
        core.emit(AnswerWithRecords(token, response, request.offset, limit, request.max_bytes))


def _fetch_response(core: Core, found: Diverging | NeedsSnapshot | None) -> FetchResponse:
    return core.response(
        FetchResponse,
        high_watermark=core.high_watermark,
        log_start_offset=core.log.start_offset,
        diverging=found.at if isinstance(found, Diverging) else None,
        snapshot=found.snapshot if isinstance(found, NeedsSnapshot) else None,
    )


def serve_parked(core: Core) -> None:
    """Answer the parked fetches that have something to return, or whose time is up."""
    leader = core.state
    if not isinstance(leader, Leader):
        return
    waiting, leader.parked = leader.parked, []
    for parked in waiting:
        if core.now_ms >= parked.deadline_ms or _is_worth_an_answer(core, parked.request):
            _answer(core, parked.token, parked.request)
        else:
            leader.parked.append(parked)


def snapshot_arrived(core: Core, token: Token, request: FetchSnapshotRequest) -> None:
    error = leader_error(core, request.epoch)
    if error is ErrorCode.NONE and isinstance(core.state, Leader):
        _note_heard(core, core.state, request.replica)
        if request.snapshot not in core.log.snapshots:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        elif request.position < 0:
            error = ErrorCode.POSITION_OUT_OF_RANGE
    response = core.response(
        FetchSnapshotResponse, error, snapshot=request.snapshot, position=request.position
    )
    if error is ErrorCode.NONE:
        max_bytes = max(1, min(request.max_bytes, core.settings.snapshot_chunk_bytes))
        core.emit(AnswerWithSnapshot(token, response, max_bytes))
    else:
        core.emit(Answer(token, response))


# -- keeping leadership, resigning ----------------------------------------------------------------------------


def note_later_epoch(core: Core, epoch: int) -> None:
    """A replica is in a later epoch without a leader, and cannot go back: it needs a leader of a still later one."""
    leader = core.state
    if isinstance(leader, Leader) and epoch > core.epoch and core.may_take(epoch):
        leader.later_epoch = max(leader.later_epoch, epoch)
        leader.later_since_ms = min(leader.later_since_ms, core.now_ms)


def _election_at_ms(core: Core, leader: Leader) -> float:
    """When to resign for replicas in a later epoch: not at once, an election may be in progress, and not often."""
    timeout_ms = core.settings.fetch_timeout_ms
    return max(leader.later_since_ms + timeout_ms, leader.since_ms + timeout_ms * _LEADS_FETCH_TIMEOUTS_MIN)


def poll_leader(core: Core, leader: Leader) -> None:
    """Resign if the removal of this voter is committed (KIP-853), or if a majority is silent."""
    serve_parked(core)
    latest = core.voter_history.latest_offset
    is_removed = not core.is_voter and latest is not None and latest < core.high_watermark
    if is_removed or core.now_ms >= quorum_deadline_ms(core, leader):
        resign(core, leader)
        return
    if core.now_ms >= _election_at_ms(core, leader):
        to_unattached(core, leader.later_epoch, core.now_ms)
        return
    for node_id in core.other_voters():
        _send_begin(core, leader, node_id)
    for key, progress in list(leader.others.items()):
        if not core.voters.has(key) and core.now_ms - progress.last_fetch_ms > OBSERVER_SILENCE_MS_MAX:
            del leader.others[key]


def quorum_deadline_ms(core: Core, leader: Leader) -> float:
    """When to resign if no more fetches arrive: the leader may be on the wrong side of a network partition."""
    heard = []
    for voter in core.voters:
        if voter.key.node_id == core.me.node_id:
            heard.append(float("inf"))
        else:
            progress = progress_of(leader, voter.key)
            heard.append(leader.since_ms if progress is None else progress.last_fetch_ms)
    heard.sort(reverse=True)
    timeout_ms = core.settings.fetch_timeout_ms * CHECK_QUORUM_FETCH_TIMEOUTS
    return heard[core.voters.majority - 1] + timeout_ms if heard else float("inf")


def _send_begin(core: Core, leader: Leader, node_id: int) -> None:
    """Send BeginQuorumEpoch repeatedly to a voter that does not fetch: it may have been down or cut off."""
    voter = core.voters.get(node_id)
    assert voter is not None
    interval_ms = core.settings.fetch_timeout_ms / 2
    progress = progress_of(leader, voter.key)
    if progress is not None and core.now_ms < progress.last_fetch_ms + interval_ms:
        leader.begin_at_ms[node_id] = progress.last_fetch_ms + interval_ms
        return
    if core.now_ms >= leader.begin_at_ms.get(node_id, 0) and core.requests.is_ready(
        node_id, BeginQuorumEpochRequest, core.now_ms
    ):
        leader.begin_at_ms[node_id] = core.now_ms + interval_ms
        core.send(
            node_id,
            BeginQuorumEpochRequest(
                cluster_id=core.cluster_id,
                voter=voter.key,
                leader_id=core.me.node_id,
                epoch=core.epoch,
                endpoints=core.endpoints,
            ),
        )


def resign(core: Core, leader: Leader, successor: ReplicaKey | None = None) -> None:
    """Resign, and order the voters as successors: the most advanced first."""

    def advance(key: ReplicaKey) -> tuple[bool, int]:
        progress = progress_of(leader, key)
        return key == successor, -1 if progress is None else progress.end_offset

    others = [voter.key for voter in core.voters if voter.key.node_id != core.me.node_id]
    others.sort(key=advance, reverse=True)
    to_resigned(core, tuple(others))


def next_deadline_ms(core: Core, leader: Leader) -> float:
    deadlines = [parked.deadline_ms for parked in leader.parked]
    # A passed deadline waits for the end of the earlier request.
    deadlines += [
        at for node_id, at in leader.begin_at_ms.items() if at > core.now_ms and core.voters.get(node_id)
    ]
    if leader.change is not None:
        deadlines.append(leader.change.deadline_ms)
    return min([quorum_deadline_ms(core, leader), _election_at_ms(core, leader), *deadlines])
