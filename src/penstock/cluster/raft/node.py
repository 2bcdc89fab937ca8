"""A node of the metadata quorum: events in, effects out. No clock, no network, no disk.

    effects = node.handle(event, now_ms)

The caller performs the effects in order before it hands in the next event (see `effects`), and hands in a `Tick` when
`next_deadline_ms` comes. A quorum of one elects itself inside `start`.
"""

from typing import assert_never

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
from penstock.cluster.raft.voters import VoterSet
from penstock.protocol.errors import ErrorCode


class RaftNode(Core):
    @property
    def is_leader(self) -> bool:
        return isinstance(self.state, Leader)

    @property
    def is_caught_up(self) -> bool:
        """Whether this node has all that was committed at the last answer of the leader."""
        return self.is_leader or (isinstance(self.state, Follower) and self.state.is_caught_up)

    @property
    def heard_voters(self) -> set[int]:
        """The voters known to run: this node, and on the leader those that have fetched lately."""
        state = self.state
        if isinstance(state, Leader):
            return membership.heard_voters(self, state, self.voters)
        return {self.me.node_id} if self.is_voter else set()

    @property
    def is_changing_voters(self) -> bool:
        """Whether the current voters are not known to be committed."""
        return self.voter_history.latest_offset is None or self.has_uncommitted_voters

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """The voter set to be written into a snapshot that ends at `end_offset`."""
        return self.voter_history.at(end_offset)

    @property
    def next_deadline_ms(self) -> float:
        """The latest time to hand in a `Tick`."""
        state = self.state
        deadline_ms = self.requests.next_deadline_ms(self.now_ms)
        if isinstance(state, Leader):
            return min(deadline_ms, leading.next_deadline_ms(self, state))
        deadline_ms = min(deadline_ms, state.deadline_ms)
        if isinstance(state, Follower) and state.has_fetched:
            waits = [each for each in (state.join_at_ms, state.update_at_ms) if each > self.now_ms]
            deadline_ms = min([deadline_ms, *waits])
        return deadline_ms

    def undo_append(self, base_offset: int) -> None:
        """Take back an append that the disk had no room for. No other node has seen it."""
        assert self.is_leader
        self.log.truncate(base_offset)

    # -- events ---------------------------------------------------------------------------------------

    def start(self, now_ms: float) -> list[Effect]:
        """Continue after a restart. A former leader leads no more; the only voter leads at once."""
        self.now_ms = self.led_ms = now_ms
        leader_id = self.election.leader_id
        if self.voters.is_only(self.me):
            elections.start_election(self)
        elif leader_id is not None and leader_id != self.me.node_id:
            to_follower(self, self.epoch, leader_id, ())
        else:
            to_unattached(self, self.epoch)
        return self._finish()

    def handle(self, event: Event, now_ms: float) -> list[Effect]:
        self.now_ms = now_ms
        self.requests.expire(now_ms)
        if isinstance(event, RequestArrived):
            self._request(event)
        elif isinstance(event, ResponseArrived):
            self._response(event)
        elif isinstance(event, RequestFailed):
            self._request_failed(event)
        elif isinstance(event, AppendRequested):
            leading.append_requested(self, event)
        elif isinstance(event, Synced):
            self._synced(event)
        elif isinstance(event, SnapshotTaken):
            self._snapshot_taken(event)
        elif isinstance(event, SnapshotInstalled):
            following.note_installed(self, event)
        elif isinstance(event, SnapshotRejected):
            following.note_rejected(self, event)
        elif isinstance(event, ResignRequested):
            self._resign(event)
        elif not isinstance(event, Tick):
            assert_never(event)
        return self._finish()

    def _finish(self) -> list[Effect]:
        """Send the requests that are due in the state after the event."""
        before: State | None = None
        while self.state is not before:  # polling may change it: an election that times out begins the next
            before = self.state
            self._poll()
        if self.is_voter and not self.has_uncommitted_voters:
            self.has_been_voter = True
        if isinstance(self.state, Leader):
            self.led_ms = self.now_ms
        self._want_snapshot()
        effects, self.effects = self.effects, []
        return effects

    def _poll(self) -> None:
        state = self.state
        if isinstance(state, Leader):
            membership.poll_change(self, state)
            if self.state is state:
                leading.poll_leader(self, state)
        elif isinstance(state, Follower):
            following.poll_follower(self, state)
        elif isinstance(state, Ballot):
            elections.poll_ballot(self, state)
        elif isinstance(state, Resigned):
            self._poll_resigned(state)
        elif isinstance(state, Unattached):
            following.poll_unattached(self, state)
        elif self.now_ms >= state.deadline_ms:
            assert isinstance(state, Voted)
            elections.start_election(self)

    def _poll_resigned(self, state: Resigned) -> None:
        if self.now_ms >= state.deadline_ms or not state.unaware:
            if self.is_leaving:
                self.emit(Left())
                state.deadline_ms = float("inf")
                state.unaware.clear()
            elif self.now_ms >= state.deadline_ms:
                elections.start_election(self)
            return
        for node_id in sorted(state.unaware):
            if self.requests.is_ready(node_id, EndQuorumEpochRequest, self.now_ms):
                self.send(
                    node_id,
                    EndQuorumEpochRequest(
                        cluster_id=self.cluster_id,
                        leader_id=self.me.node_id,
                        epoch=self.epoch,
                        preferred=state.preferred,
                        endpoints=self.endpoints,
                    ),
                )

    def _synced(self, event: Synced) -> None:
        self.log.synced_offset = min(max(event.offset, self.log.synced_offset), self.log.end_offset)
        if isinstance(self.state, Leader):
            leading.update_high_watermark(self, self.state)

    def _resign(self, event: ResignRequested) -> None:
        self.is_leaving = self.is_leaving or event.is_for_good
        if isinstance(self.state, Leader):
            leading.resign(self, self.state, event.successor)
        elif event.is_for_good and not isinstance(self.state, Resigned):
            self.emit(Left())

    # -- requests -------------------------------------------------------------------------------------

    def _request(self, event: RequestArrived) -> None:
        request, token = event.request, event.token
        if not self._is_of_this_cluster(request):
            self.emit(Answer(token, _ANSWER_OF[type(request)](error=ErrorCode.INCONSISTENT_CLUSTER_ID)))
        elif isinstance(request, VoteRequest):
            self.emit(Answer(token, elections.answer_vote(self, request)))
        elif isinstance(request, BeginQuorumEpochRequest):
            self.emit(Answer(token, elections.answer_begin(self, request)))
        elif isinstance(request, EndQuorumEpochRequest):
            self.emit(Answer(token, elections.answer_end(self, request)))
        elif isinstance(request, FetchRequest):
            leading.fetch_arrived(self, token, request)
        elif isinstance(request, FetchSnapshotRequest):
            leading.snapshot_arrived(self, token, request)
        elif isinstance(request, AddVoterRequest):
            membership.add_arrived(self, token, request)
        elif isinstance(request, RemoveVoterRequest):
            membership.remove_arrived(self, token, request)
        elif isinstance(request, UpdateVoterRequest):
            membership.update_arrived(self, token, request)
        elif isinstance(request, DescribeQuorumRequest):
            self.emit(Answer(token, membership.describe(self)))
        else:
            assert_never(request)

    def _is_of_this_cluster(self, request: Request) -> bool:
        """Check the cluster id, which nodes always send; an administrator or a consumer need not."""
        if isinstance(request, DescribeQuorumRequest):
            return True
        if request.cluster_id is None:
            is_of_client = isinstance(request, AddVoterRequest | RemoveVoterRequest) or (
                isinstance(request, FetchRequest) and request.replica.node_id < 0
            )
            if not is_of_client:
                self.reject(f"refused {_api_name(request)}: it has no cluster id")
            return is_of_client
        if request.cluster_id != self.cluster_id:
            self.reject(f"refused {_api_name(request)}: it is from cluster {request.cluster_id!r:.60}")
        return request.cluster_id == self.cluster_id

    # -- responses ------------------------------------------------------------------------------------

    def _request_failed(self, event: RequestFailed) -> None:
        asked = self.requests.end(event.request_id, self.now_ms, is_failed=True)
        if asked is not None and event.is_refused:
            following.note_refusal(self, asked.to)
            elections.note_refusal(self, asked.to)

    def _response(self, event: ResponseArrived) -> None:
        response = event.response
        is_failed = response.error is not ErrorCode.NONE
        asked = self.requests.end(event.request_id, self.now_ms, is_failed=is_failed)
        if asked is None:
            return
        if response.error is ErrorCode.INCONSISTENT_CLUSTER_ID:
            self.reject(f"node {asked.to} belongs to another cluster, not to {self.cluster_id}")
            return
        if not self.may_take(response.epoch):
            self.reject(f"ignored the answer of node {asked.to}: epoch {response.epoch} is out of range")
            self.requests.back_off(asked.to, asked.kind, self.now_ms + self.settings.fetch_timeout_ms)
            return
        state = self.state
        elections.learn(self, response.epoch, response.leader_id, response.leader_endpoints)
        if self.state is not state:
            return  # the request was sent in another state
        try:
            self._handle_answer(asked, response, is_failed=is_failed)
        except RaftFault as fault:
            self.fault = fault
            self.requests.back_off(asked.to, asked.kind, self.now_ms + self.settings.fetch_timeout_ms)

    def _handle_answer(self, asked: InFlight, response: Response, *, is_failed: bool) -> None:
        if isinstance(response, FetchSnapshotResponse) and is_failed:
            following.note_snapshot_error(self, response.error)
        elif isinstance(response, VoterChangeResponse) and asked.kind is AddVoterRequest:
            following.note_join_response(self, asked.to, response)
        elif is_failed:
            return
        elif isinstance(response, VoteResponse):
            elections.note_vote_response(self, asked.to, response)
        elif isinstance(response, FetchResponse):
            following.note_fetch_response(self, asked.to, response)
        elif isinstance(response, FetchSnapshotResponse):
            following.note_snapshot_response(self, asked.to, response)
        elif isinstance(response, EndQuorumEpochResponse) and isinstance(self.state, Resigned):
            self.state.unaware.discard(asked.to)

    # -- snapshots ------------------------------------------------------------------------------------

    def _want_snapshot(self) -> None:
        if self.is_snapshot_wanted or self.bytes_since_snapshot < self.settings.snapshot_after_bytes:
            return
        latest = self.log.latest_snapshot
        if self.high_watermark > (latest.offset if latest is not None else 0):
            self.is_snapshot_wanted = True
            self.emit(TakeSnapshot(self.log.position_at(self.high_watermark)))

    def _snapshot_taken(self, event: SnapshotTaken) -> None:
        """Keep the previous snapshot and the records since: most followers then need no snapshot."""
        self.is_snapshot_wanted = False
        latest = self.log.latest_snapshot
        if latest is not None and event.snapshot.offset <= latest.offset:
            return
        self.bytes_since_snapshot = 0
        self.log.snapshots.append(event.snapshot)
        if latest is not None and latest.offset > self.log.start_offset:
            self.log.drop_prefix(latest)
            self.voter_history.truncate_from_start(latest.offset)
            self.emit(DropPrefix(latest))


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
