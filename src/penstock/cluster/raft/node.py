"""A node of the metadata quorum: events in, effects out. No clock, no network, no disk.

    effects = node.handle(event, now_ms)

The caller performs the effects in order before it hands in the next event (see `effects`), and hands in a `Tick` when
`next_deadline_ms` comes. A quorum of one elects itself inside `start`.
"""

import random
from collections.abc import Callable

from penstock.cluster.raft import elections, following, leading, membership
from penstock.cluster.raft.core import Core
from penstock.cluster.raft.effects import Answer, DropPrefix, Effect, Left, TakeSnapshot
from penstock.cluster.raft.errors import RaftFault
from penstock.cluster.raft.events import (
    AppendRequested,
    Event,
    RequestArrived,
    RequestFailed,
    ResignRequested,
    ResponseArrived,
    SnapshotInstalled,
    SnapshotRejected,
    SnapshotTaken,
    Synced,
    Tick,
)
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    Request,
    Response,
    UpdateVoterRequest,
    VoterChangeResponse,
    VoteRequest,
    VoteResponse,
)
from penstock.cluster.raft.requests import InFlight
from penstock.cluster.raft.states import Ballot, Follower, Leader, Resigned, State, Unattached, Voted
from penstock.cluster.raft.transitions import to_follower, to_unattached
from penstock.cluster.raft.values import Address, Election, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import VoterHistory, VoterSet
from penstock.protocol.errors import ErrorCode


class RaftNode:
    __slots__ = ("_core",)

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
        """`stamp_ms` is the wall clock for the quorum's own records; `bootstrap` is whom an observer asks first."""
        self._core = Core(
            me,
            cluster_id,
            election=election,
            log=log,
            voter_history=voter_history,
            settings=settings,
            randomness=randomness,
            stamp_ms=stamp_ms,
            endpoints=endpoints,
            bootstrap=bootstrap,
            bytes_since_snapshot=bytes_since_snapshot,
        )

    # -- what it knows --------------------------------------------------------------------------------

    @property
    def fault(self) -> RaftFault | None:
        """What a peer last said that no correct peer says; it was not taken in."""
        return self._core.fault

    def take_fault(self) -> RaftFault | None:
        """The same, once: to be logged."""
        fault, self._core.fault = self._core.fault, None
        return fault

    @property
    def state(self) -> State:
        return self._core.state

    @property
    def epoch(self) -> int:
        return self._core.epoch

    @property
    def leader_id(self) -> int | None:
        return self._core.leader_id

    @property
    def leader_addresses(self) -> tuple[Address, ...]:
        """Where the leader can be reached, as far as this node knows."""
        return self._core.leader_endpoints

    @property
    def key(self) -> ReplicaKey:
        return self._core.me

    @property
    def is_leader(self) -> bool:
        return isinstance(self._core.state, Leader)

    @property
    def is_voter(self) -> bool:
        return self._core.is_voter

    @property
    def voters(self) -> VoterSet:
        return self._core.voters

    @property
    def heard_voters(self) -> set[int]:
        """The voters that run, as far as this node knows: itself, and as the leader those that have fetched lately."""
        state = self._core.state
        if isinstance(state, Leader):
            return membership.heard_voters(self._core, state, self._core.voters)
        return {self._core.me.node_id} if self._core.is_voter else set()

    @property
    def is_changing_voters(self) -> bool:
        """Whether the voters that are in force are not known to be committed."""
        return self._core.voter_history.latest_offset is None or self._core.has_uncommitted_voters

    @property
    def high_watermark(self) -> int:
        return self._core.high_watermark

    @property
    def log(self) -> LogShape:
        return self._core.log

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """The voter set to be written into a snapshot that ends at `end_offset`."""
        return self._core.voter_history.at(end_offset)

    @property
    def next_deadline_ms(self) -> float:
        """When to hand in a `Tick` at the latest."""
        core, state = self._core, self._core.state
        deadline_ms = core.requests.next_deadline_ms(core.now_ms)
        if isinstance(state, Leader):
            return min(deadline_ms, leading.next_deadline_ms(core, state))
        deadline_ms = min(deadline_ms, state.deadline_ms)
        if isinstance(state, Follower) and state.has_fetched:
            waits = [each for each in (state.join_at_ms, state.update_at_ms) if each > core.now_ms]
            deadline_ms = min([deadline_ms, *waits])
        return deadline_ms

    def retract(self, base_offset: int) -> None:
        """The disk had no room for what this leader was asked to append, and nobody has seen it: as if never asked."""
        assert self.is_leader
        self._core.log.truncate(base_offset)

    # -- what happens ---------------------------------------------------------------------------------

    def start(self, now_ms: float) -> list[Effect]:
        """Take up where this node stopped. Who led then leads no more; who is alone leads at once."""
        core = self._core
        core.now_ms = core.led_ms = now_ms
        leader_id = core.election.leader_id
        if core.voters.is_only(core.me):
            elections.stand(core)
        elif leader_id is not None and leader_id != core.me.node_id:
            to_follower(core, core.epoch, leader_id, ())
        else:
            to_unattached(core, core.epoch)
        return self._finish()

    def handle(self, event: Event, now_ms: float) -> list[Effect]:
        core = self._core
        core.now_ms = now_ms
        core.requests.expire(now_ms)
        if isinstance(event, RequestArrived):
            self._request(event)
        elif isinstance(event, ResponseArrived):
            self._response(event)
        elif isinstance(event, RequestFailed):
            self._request_failed(event)
        elif isinstance(event, AppendRequested):
            leading.append_requested(core, event)
        elif isinstance(event, Synced):
            self._synced(event)
        elif isinstance(event, SnapshotTaken):
            self._snapshot_taken(event)
        elif isinstance(event, SnapshotInstalled):
            following.note_installed(core, event)
        elif isinstance(event, SnapshotRejected):
            following.note_rejected(core, event)
        elif isinstance(event, ResignRequested):
            self._resign(event)
        else:
            assert isinstance(event, Tick)
        return self._finish()

    def _finish(self) -> list[Effect]:
        """Send what is due in the state that the event has led to."""
        core = self._core
        before: State | None = None
        while core.state is not before:  # polling may lead on: an election that runs out begins the next
            before = core.state
            self._poll()
        if core.is_voter and not core.has_uncommitted_voters:
            core.has_been_voter = True
        if isinstance(core.state, Leader):
            core.led_ms = core.now_ms
        self._want_snapshot()
        effects, core.effects = core.effects, []
        return effects

    def _poll(self) -> None:
        core, state = self._core, self._core.state
        if isinstance(state, Leader):
            membership.poll_change(core, state)
            if core.state is state:
                leading.poll_leader(core, state)
        elif isinstance(state, Follower):
            following.poll_follower(core, state)
        elif isinstance(state, Ballot):
            elections.poll_ballot(core, state)
        elif isinstance(state, Resigned):
            self._poll_resigned(state)
        elif isinstance(state, Unattached):
            following.poll_unattached(core, state)
        elif core.now_ms >= state.deadline_ms:
            assert isinstance(state, Voted)
            elections.stand(core)

    def _poll_resigned(self, state: Resigned) -> None:
        core = self._core
        if core.now_ms >= state.deadline_ms or not state.unaware:
            if core.is_leaving:
                core.emit(Left())
                state.deadline_ms = float("inf")
                state.unaware.clear()
            elif core.now_ms >= state.deadline_ms:
                elections.stand(core)
            return
        for node_id in sorted(state.unaware):
            if core.requests.is_ready(node_id, EndQuorumEpochRequest, core.now_ms):
                core.send(
                    node_id,
                    EndQuorumEpochRequest(
                        cluster_id=core.cluster_id,
                        leader_id=core.me.node_id,
                        epoch=core.epoch,
                        preferred=state.preferred,
                        endpoints=core.endpoints,
                    ),
                )

    def _synced(self, event: Synced) -> None:
        core = self._core
        core.log.synced_offset = min(max(event.offset, core.log.synced_offset), core.log.end_offset)
        if isinstance(core.state, Leader):
            leading.update_high_watermark(core, core.state)

    def _resign(self, event: ResignRequested) -> None:
        core = self._core
        core.is_leaving = core.is_leaving or event.is_for_good
        if isinstance(core.state, Leader):
            leading.resign(core, core.state, event.successor)
        elif event.is_for_good and not isinstance(core.state, Resigned):
            core.emit(Left())

    # -- requests -------------------------------------------------------------------------------------

    def _request(self, event: RequestArrived) -> None:
        core, request, token = self._core, event.request, event.token
        if not self._is_of_this_cluster(request):
            core.emit(Answer(token, _ANSWER_OF[type(request)](error=ErrorCode.INCONSISTENT_CLUSTER_ID)))
        elif isinstance(request, VoteRequest):
            core.emit(Answer(token, elections.answer_vote(core, request)))
        elif isinstance(request, BeginQuorumEpochRequest):
            core.emit(Answer(token, elections.answer_begin(core, request)))
        elif isinstance(request, EndQuorumEpochRequest):
            core.emit(Answer(token, elections.answer_end(core, request)))
        elif isinstance(request, FetchRequest):
            leading.fetch_arrived(core, token, request)
        elif isinstance(request, FetchSnapshotRequest):
            leading.snapshot_arrived(core, token, request)
        elif isinstance(request, AddVoterRequest):
            membership.add_arrived(core, token, request)
        elif isinstance(request, RemoveVoterRequest):
            membership.remove_arrived(core, token, request)
        elif isinstance(request, UpdateVoterRequest):
            membership.update_arrived(core, token, request)
        else:
            assert isinstance(request, DescribeQuorumRequest)
            core.emit(Answer(token, membership.describe(core)))

    def _is_of_this_cluster(self, request: Request) -> bool:
        """Nodes always name their cluster; an administrator or a debugging consumer need not."""
        if isinstance(request, DescribeQuorumRequest):
            return True
        if request.cluster_id is None:
            is_of_client = isinstance(request, AddVoterRequest | RemoveVoterRequest) or (
                isinstance(request, FetchRequest) and request.replica.node_id < 0
            )
            if not is_of_client:
                self._core.reject(f"refused {_api_name(request)}: it does not name its cluster")
            return is_of_client
        if request.cluster_id != self._core.cluster_id:
            self._core.reject(f"refused {_api_name(request)}: it is from cluster {request.cluster_id!r:.60}")
        return request.cluster_id == self._core.cluster_id

    # -- responses ------------------------------------------------------------------------------------

    def _request_failed(self, event: RequestFailed) -> None:
        core = self._core
        asked = core.requests.end(event.request_id, core.now_ms, is_failed=True)
        if asked is not None and event.is_refused:
            following.note_refusal(core, asked.to)
            elections.note_refusal(core, asked.to)

    def _response(self, event: ResponseArrived) -> None:
        core, response = self._core, event.response
        is_failed = response.error is not ErrorCode.NONE
        asked = core.requests.end(event.request_id, core.now_ms, is_failed=is_failed)
        if asked is None:
            return
        if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
            core.reject(f"node {asked.to} belongs to another cluster, not to {core.cluster_id}")
            return
        if not core.may_take(response.epoch):
            core.reject(f"ignored the answer of node {asked.to}: epoch {response.epoch} is out of range")
            core.requests.back_off(asked.to, asked.kind, core.now_ms + core.settings.fetch_timeout_ms)
            return
        state = core.state
        elections.learn(core, response.epoch, response.leader_id, response.leader_endpoints)
        if core.state is not state:
            return  # what was asked was asked in another state
        try:
            self._take_in(asked, response, is_failed=is_failed)
        except RaftFault as fault:
            core.fault = fault
            core.requests.back_off(asked.to, asked.kind, core.now_ms + core.settings.fetch_timeout_ms)

    def _take_in(self, asked: InFlight, response: Response, *, is_failed: bool) -> None:
        core = self._core
        if isinstance(response, FetchSnapshotResponse) and is_failed:
            following.note_snapshot_error(core, response.error)
        elif is_failed:
            return
        elif isinstance(response, VoteResponse):
            elections.note_vote_response(core, asked.to, response)
        elif isinstance(response, FetchResponse):
            following.note_fetch_response(core, asked.to, response)
        elif isinstance(response, FetchSnapshotResponse):
            following.note_snapshot_response(core, asked.to, response)
        elif isinstance(response, EndQuorumEpochResponse) and isinstance(core.state, Resigned):
            core.state.unaware.discard(asked.to)

    # -- snapshots ------------------------------------------------------------------------------------

    def _want_snapshot(self) -> None:
        core = self._core
        if core.is_snapshot_wanted or core.bytes_since_snapshot < core.settings.snapshot_after_bytes:
            return
        latest = core.log.latest_snapshot
        if core.high_watermark > (latest.offset if latest is not None else 0):
            core.is_snapshot_wanted = True
            core.emit(TakeSnapshot(core.log.position_at(core.high_watermark)))

    def _snapshot_taken(self, event: SnapshotTaken) -> None:
        """Keep the snapshot before this one and the records since: most followers need no snapshot then."""
        core = self._core
        core.is_snapshot_wanted = False
        latest = core.log.latest_snapshot
        if latest is not None and event.snapshot.offset <= latest.offset:
            return
        core.bytes_since_snapshot = 0
        core.log.snapshots.append(event.snapshot)
        if latest is not None and latest.offset > core.log.start_offset:
            core.log.drop_prefix(latest)
            core.voter_history.truncate_from_start(latest.offset)
            core.emit(DropPrefix(latest))


def _api_name(request: Request) -> str:
    return type(request).__name__.removesuffix("Request")


_ANSWER_OF: dict[type, type[Response]] = {
    VoteRequest: VoteResponse,
    BeginQuorumEpochRequest: BeginQuorumEpochResponse,
    EndQuorumEpochRequest: EndQuorumEpochResponse,
    FetchRequest: FetchResponse,
    FetchSnapshotRequest: FetchSnapshotResponse,
    AddVoterRequest: VoterChangeResponse,
    RemoveVoterRequest: VoterChangeResponse,
    UpdateVoterRequest: VoterChangeResponse,
}
