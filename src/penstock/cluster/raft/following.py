"""Following: fetch from the leader, truncate diverging records, fetch its snapshot if far behind (KIP-595, KIP-630).

A fetch offset promises that all records below are on this node's disk. So the next fetch is sent only when the records
of the last one are synced.
"""

from penstock.cluster.raft import records
from penstock.cluster.raft.core import BOOTSTRAP_ID_FIRST, Core
from penstock.cluster.raft.effects import Append, InstallSnapshot, StoreSnapshotChunk, Truncate
from penstock.cluster.raft.elections import start_election
from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.events import SnapshotInstalled, SnapshotRejected
from penstock.cluster.raft.messages import (
    AddVoterRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from penstock.cluster.raft.states import Follower, SnapshotFetch, Unattached
from penstock.cluster.raft.values import LogPosition
from penstock.cluster.raft.voters import Voter
from penstock.protocol.errors import ErrorCode

_JOIN_TIMEOUT_MS = 10_000
_STAGGER = 0.25  # of an election timeout


# -- asking -------------------------------------------------------------------------------------------


def poll_follower(core: Core, state: Follower) -> None:
    if core.now_ms >= state.deadline_ms:
        start_election(core)
        return
    if state.snapshot is not None:
        _fetch_snapshot(core, state, state.snapshot)
    else:
        fetch(core, state.leader_id)
        if state.has_fetched:
            _maintain_membership(core, state)


def poll_unattached(core: Core, state: Unattached) -> None:
    if core.now_ms >= state.deadline_ms:
        start_election(core)
    elif not core.is_voter and not core.requests.is_any_in_flight(FetchRequest):
        _look_for_leader(core)


def _look_for_leader(core: Core) -> None:
    """Send a fetch to any node: the answer names the leader."""
    bootstrap = [BOOTSTRAP_ID_FIRST - number for number in range(len(core.bootstrap))]
    peers = [*core.other_voters(), *bootstrap]
    peers = [each for each in peers if core.requests.is_ready(each, FetchRequest, core.now_ms)]
    if peers:
        to = core.randomness.choice(peers)
        fetch(core, to)
        core.requests.back_off(to, FetchRequest, core.now_ms + core.settings.retry_backoff_ms)


def fetch(core: Core, to: int) -> None:
    if core.log.synced_offset < core.log.end_offset or not core.requests.is_ready(
        to, FetchRequest, core.now_ms
    ):
        return
    addresses = core.leader_endpoints if to == core.leader_id else ()
    if to <= BOOTSTRAP_ID_FIRST:
        addresses = (core.bootstrap[BOOTSTRAP_ID_FIRST - to],)
    end = core.log.end
    core.send(
        to,
        FetchRequest(
            cluster_id=core.cluster_id,
            replica=core.me,
            epoch=core.epoch,
            offset=end.offset,
            last_epoch=end.epoch,
            max_wait_ms=core.settings.fetch_wait_max_ms,
            max_bytes=core.settings.fetch_bytes_max,
            high_watermark=core.high_watermark,
        ),
        addresses,
    )


def _fetch_snapshot(core: Core, state: Follower, fetching: SnapshotFetch) -> None:
    to = state.leader_id
    if not fetching.is_installing and core.requests.is_ready(to, FetchSnapshotRequest, core.now_ms):
        core.send(
            to,
            FetchSnapshotRequest(
                cluster_id=core.cluster_id,
                replica=core.me,
                epoch=core.epoch,
                snapshot=fetching.snapshot,
                position=fetching.position,
                max_bytes=core.settings.snapshot_chunk_bytes,
            ),
            core.leader_endpoints,
        )


def _maintain_membership(core: Core, state: Follower) -> None:
    """Ask to become a voter if configured (KIP-1186); as a voter, report changed endpoints."""
    mine = core.voters.get(core.me.node_id)
    cluster_id, to = core.cluster_id, state.leader_id
    if not core.is_voter:
        may_join = core.settings.auto_join and not core.is_leaving and not core.is_removed
        if may_join and core.now_ms >= state.join_at_ms:
            state.join_at_ms = core.now_ms + core.settings.fetch_timeout_ms
            if mine is not None:  # the earlier directory of this id is gone, and cannot vote again
                core.send(
                    to, RemoveVoterRequest(cluster_id=cluster_id, voter=mine.key), core.leader_endpoints
                )
            else:
                voter = Voter(key=core.me, endpoints=core.endpoints)
                request = AddVoterRequest(
                    cluster_id=cluster_id,
                    voter=voter,
                    timeout_ms=_JOIN_TIMEOUT_MS,
                    ack_when_committed=False,
                )
                core.send(to, request, core.leader_endpoints)
    elif mine is not None and core.endpoints and core.now_ms >= state.update_at_ms:
        voter = Voter(key=core.me, endpoints=core.endpoints)
        if mine != voter:
            state.update_at_ms = core.now_ms + core.settings.fetch_timeout_ms
            request_update = UpdateVoterRequest(cluster_id=cluster_id, epoch=core.epoch, voter=voter)
            core.send(to, request_update, core.leader_endpoints)


def note_join_response(core: Core, source: int, response: VoterChangeResponse) -> None:
    """Say why this node does not become a voter, if asking again will not help."""
    if response.error is ErrorCode.UNSUPPORTED_VERSION:
        core.reject(
            f"node {source} cannot make this node a voter: the voters are static (kraft.version 0). Run "
            "`kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature kraft.version=1` first"
        )
    elif response.error is ErrorCode.INVALID_REQUEST:
        core.reject(f"node {source} does not make this node a voter: {response.message}")


# -- answers ----------------------------------------------------------------------------------


def note_fetch_response(core: Core, source: int, response: FetchResponse) -> None:
    """Raise `RaftFault`, and change nothing, for an answer that no correct leader sends."""
    state = core.state
    if not isinstance(state, Follower) or state.leader_id != source or response.epoch != core.epoch:
        return
    if response.diverging is not None:
        _truncate(core, response.diverging)
    elif response.snapshot is not None:
        _begin_snapshot(core, state, response.snapshot)
    else:
        _append(core, response.records)
        core.commit(min(response.high_watermark, core.log.end_offset))
        state.is_caught_up = 0 <= response.high_watermark <= core.log.end_offset
    state.has_fetched = True
    state.deadline_ms = core.now_ms + core.settings.fetch_timeout_ms
    core.led_ms = core.now_ms


def note_refusal(core: Core, source: int) -> None:
    """The leader's address refuses connections: stand for election soon, and grant pre-votes.

    The leader may still run: then nodes that hear from it reject the pre-vote. So this is done once, until the leader
    has answered again.
    """
    state = core.state
    if isinstance(state, Follower) and state.leader_id == source and state.has_fetched:
        state.has_fetched = False
        # Random, so that nodes that notice it together do not all stand together.
        stagger_ms = core.settings.election_timeout_ms * _STAGGER * core.randomness.random()
        state.deadline_ms = min(state.deadline_ms, core.now_ms + stagger_ms)


def _truncate(core: Core, diverging: LogPosition) -> None:
    end_offset = core.log.truncation_for(diverging)
    if end_offset < core.high_watermark:
        raise RaftFault(
            f"the leader of epoch {core.epoch} asks to truncate the log to offset {end_offset}, but all below "
            f"{core.high_watermark} is committed"
        )
    if end_offset < core.log.end_offset:
        core.log.truncate(end_offset)
        core.voter_history.truncate_from_end(end_offset)
        core.emit(Truncate(end_offset))


def _append(core: Core, fetched: bytes) -> None:
    batches = records.whole_batches(fetched, offset=core.log.end_offset, epoch_max=core.epoch)
    if not batches:
        return
    pos, last = batches[-1]
    whole = bytes(fetched[: pos + last.size_bytes])
    core.emit(Append(core.log.end_offset, whole))
    core.bytes_since_snapshot += len(whole)
    for pos, header in batches:
        for offset, voters in records.voter_sets_in(whole, pos, header):
            core.voter_history.add(offset, voters)
        core.log.append(header.leader_epoch, header.next_offset)


def _begin_snapshot(core: Core, state: Follower, snapshot: LogPosition) -> None:
    if snapshot.offset < core.high_watermark or not 0 <= snapshot.epoch <= core.epoch:
        raise RaftFault(
            f"the leader of epoch {core.epoch} offers a snapshot of epoch {snapshot.epoch} up to offset "
            f"{snapshot.offset} to replace the log, but all below {core.high_watermark} is committed"
        )
    if state.snapshot is None or state.snapshot.snapshot != snapshot:
        state.snapshot = SnapshotFetch(snapshot)


def note_snapshot_response(core: Core, source: int, response: FetchSnapshotResponse) -> None:
    state = core.state
    if not isinstance(state, Follower) or state.leader_id != source or response.epoch != core.epoch:
        return
    fetching = state.snapshot
    state.deadline_ms = core.now_ms + core.settings.fetch_timeout_ms
    core.led_ms = core.now_ms
    if fetching is None or fetching.snapshot != response.snapshot or fetching.position != response.position:
        return
    if not response.data and response.size_bytes > fetching.position:
        return
    core.emit(StoreSnapshotChunk(fetching.snapshot, fetching.position, response.data))
    fetching.position += len(response.data)
    if fetching.position >= response.size_bytes:
        fetching.is_installing = True
        core.emit(InstallSnapshot(fetching.snapshot))


def note_snapshot_error(core: Core, error: ErrorCode) -> None:
    """The leader does not have that snapshot: fetch again, it will name another."""
    state = core.state
    if isinstance(state, Follower) and error in (
        ErrorCode.SNAPSHOT_NOT_FOUND,
        ErrorCode.POSITION_OUT_OF_RANGE,
    ):
        state.snapshot = None


def note_rejected(core: Core, event: SnapshotRejected) -> None:
    """Fetch again after a while: the leader's copy may be damaged."""
    state = core.state
    if isinstance(state, Follower):
        core.reject(
            f"refused the snapshot up to offset {event.snapshot.offset} of node {state.leader_id}: its "
            "checksums do not match. Check the disk of that node"
        )
        state.snapshot = None
        core.requests.back_off(
            state.leader_id, FetchRequest, core.now_ms + core.settings.fetch_timeout_ms / 2
        )


def note_installed(core: Core, event: SnapshotInstalled) -> None:
    """A snapshot has replaced the log. Its records are committed, even if the leader has changed."""
    # Not `commit`: the state machine has loaded it already.
    core.high_watermark = max(core.high_watermark, event.snapshot.offset)
    core.log.restart_at(event.snapshot)
    core.voter_history.restart(event.snapshot.offset, event.voters)
    core.bytes_since_snapshot = 0
    core.is_snapshot_wanted = False
    if isinstance(core.state, Follower):
        core.state.snapshot = None
        core.state.deadline_ms = core.now_ms + core.settings.fetch_timeout_ms
