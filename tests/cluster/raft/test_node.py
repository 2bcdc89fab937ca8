"""A node refuses messages of hostile peers: strangers, other clusters, epochs that would end all elections."""

from collections.abc import Callable

import pytest

from penstock.cluster.raft.effects import (
    AnswerWithRecords,
    Append,
    InstallSnapshot,
    Persist,
    StoreSnapshotChunk,
)
from penstock.cluster.raft.elections import SILENT_FETCH_TIMEOUTS
from penstock.cluster.raft.epochs import EPOCH_MAX, FREE_EPOCH_MAX
from penstock.cluster.raft.events import RequestArrived, SnapshotRejected, Tick
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveVoterRequest,
    Request,
    UpdateVoterRequest,
    VoteRequest,
    VoteResponse,
)
from penstock.cluster.raft.states import Follower
from penstock.cluster.raft.values import Address, Election, LogPosition, RaftSettings, ReplicaKey
from penstock.cluster.raft.voters import Voter
from penstock.protocol.errors import ErrorCode
from tests.cluster.raft.support import CLUSTER, Subject, fetch, key, records, vote

EMPTY = LogPosition(0, 0)
LONG = LogPosition(3, 1000)
LAST = 2**31 - 1
STRANGER = 66
EVIL = (Address("PLAINTEXT", "evil", 1),)


def begin(leader_id: int, epoch: int) -> BeginQuorumEpochRequest:
    return BeginQuorumEpochRequest(
        cluster_id=CLUSTER, voter=None, leader_id=leader_id, epoch=epoch, endpoints=EVIL
    )


def end(leader_id: int, epoch: int) -> EndQuorumEpochRequest:
    return EndQuorumEpochRequest(cluster_id=CLUSTER, leader_id=leader_id, epoch=epoch, preferred=(key(1),))


def is_granted(response: object) -> bool:
    assert isinstance(response, VoteResponse)
    return response.is_granted


# -- epochs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [LAST, EPOCH_MAX, FREE_EPOCH_MAX + (1 << 20)])
@pytest.mark.parametrize(
    "forge",
    [
        lambda epoch: vote(2, 1, epoch, LONG),
        lambda epoch: vote(2, 1, epoch, LONG, is_pre_vote=True),
        lambda epoch: begin(2, epoch),
        lambda epoch: end(2, epoch),
    ],
)
def test_a_request_with_an_epoch_out_of_range_is_refused_and_nothing_is_persisted(
    forge: Callable[[int], Request], epoch: int
) -> None:
    subject = Subject()
    assert subject.ask(forge(epoch)).error is ErrorCode.INVALID_REQUEST
    assert not subject.all(Persist)
    assert subject.node.epoch == 0
    assert "out of range" in str(subject.node.fault)


def test_an_answer_with_an_epoch_out_of_range_is_ignored() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    send = subject.sends(FetchRequest)[0]
    subject.respond(send, FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=LAST, leader_id=3))
    assert subject.node.epoch == 1
    assert "epoch 2147483647 is out of range" in str(subject.node.fault)
    assert not subject.sends(FetchRequest)  # not at once


def test_a_node_elects_itself_after_a_jump_to_the_end_of_the_free_epochs() -> None:
    subject = Subject()
    subject.ask(vote(2, 1, FREE_EPOCH_MAX, LONG))
    assert subject.node.epoch == FREE_EPOCH_MAX
    subject.win()
    assert subject.node.epoch == FREE_EPOCH_MAX + 1


def test_a_node_in_the_last_epoch_starts_no_election_and_logs_an_error() -> None:
    alone = Subject(1, [1], election=Election(epoch=EPOCH_MAX))
    assert not alone.node.is_leader
    assert "no more elections are possible" in str(alone.node.fault)
    for _ in range(5):
        alone.wait()
        assert not alone.all(Persist)


def test_a_snapshot_of_a_later_epoch_than_the_leaders_is_refused() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    answer = FetchResponse(epoch=1, leader_id=2, snapshot=LogPosition(EPOCH_MAX, 50))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    assert "offers a snapshot of epoch" in str(subject.node.fault)
    assert not subject.sends(FetchSnapshotRequest)


def test_a_snapshot_below_the_committed_offset_is_refused() -> None:
    log = LogShape(end_offset=60, synced_offset=60, snapshots=[LogPosition(1, 60)], start_offset=60)
    subject = Subject(election=Election(epoch=1, leader_id=2), log=log)
    answer = FetchResponse(epoch=1, leader_id=2, snapshot=LogPosition(1, 50))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    assert "all below 60 is committed" in str(subject.node.fault)
    assert not subject.all(StoreSnapshotChunk)
    assert not subject.sends(FetchSnapshotRequest)


def test_a_snapshot_with_wrong_checksums_is_fetched_again_after_a_backoff() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    snapshot = LogPosition(1, 50)
    subject.respond(subject.sends(FetchRequest)[0], FetchResponse(epoch=1, leader_id=2, snapshot=snapshot))
    answer = FetchSnapshotResponse(epoch=1, leader_id=2, snapshot=snapshot, size_bytes=3, data=b"bad")
    subject.respond(subject.sends(FetchSnapshotRequest)[0], answer)
    assert subject.one(InstallSnapshot).snapshot == snapshot
    subject.handle(SnapshotRejected(snapshot))
    assert "Check the disk of that node" in str(subject.node.fault)
    assert not subject.sends(FetchRequest)
    subject.wait()
    assert subject.sends(FetchRequest)


# -- candidates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_pre_vote", [False, True])
def test_a_candidate_that_is_no_voter_and_has_the_same_log_gets_no_vote(is_pre_vote: bool) -> None:
    subject = Subject()
    assert not is_granted(subject.ask(vote(STRANGER, 1, 1, EMPTY, is_pre_vote=is_pre_vote)))
    assert is_granted(subject.ask(vote(2, 1, 1, EMPTY, is_pre_vote=is_pre_vote)))


def test_a_candidate_with_the_id_of_a_voter_and_another_directory_gets_no_vote() -> None:
    subject = Subject()
    request = VoteRequest(
        cluster_id=CLUSTER, voter=key(1), candidate=key(2, 77), epoch=1, last=EMPTY, is_pre_vote=False
    )
    assert not is_granted(subject.ask(request))


def test_a_candidate_with_a_longer_log_may_be_a_voter_unknown_to_this_node() -> None:
    assert is_granted(Subject().ask(vote(STRANGER, 1, 4, LONG)))


def test_a_new_node_without_known_voters_votes_for_any_candidate() -> None:
    assert is_granted(Subject(4, []).ask(vote(2, 4, 1, EMPTY)))


@pytest.mark.parametrize("last", [EMPTY, LONG])
def test_the_only_voter_ignores_unknown_candidates(last: LogPosition) -> None:
    subject = Subject(1, [1])
    assert subject.ask(vote(STRANGER, 1, 5, last)).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert subject.node.is_leader
    assert not subject.all(Persist)


# -- leaders --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("forge", [begin, end])
def test_a_leader_that_is_no_voter_is_not_followed(
    forge: Callable[[int, int], Request], voting: tuple[int, ...]
) -> None:
    subject = Subject(1, voting)
    epoch = subject.node.epoch + 1
    assert subject.ask(forge(STRANGER, epoch)).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert not subject.all(Persist)
    assert not subject.sends(FetchRequest)
    assert f"of node {STRANGER} for epoch {epoch}" in str(subject.node.fault)


def test_an_announcement_that_names_the_node_itself_as_leader_is_refused() -> None:
    subject = Subject()
    assert subject.ask(begin(1, 7)).error is ErrorCode.INVALID_REQUEST
    assert not subject.all(Persist)


def test_a_leader_of_a_later_voter_set_is_followed_when_a_known_voter_names_it() -> None:
    subject = Subject()
    subject.ask(begin(4, 2))
    while not subject.sends(VoteRequest):
        subject.wait()
    answer = VoteResponse(epoch=2, leader_id=4, leader_endpoints=(Address("PLAINTEXT", "new", 9),))
    subject.respond(subject.sends(VoteRequest)[0], answer)
    assert subject.node.leader_id == 4
    assert subject.sends(FetchRequest)[0].addresses[0].host == "new"


def test_a_leader_of_a_later_voter_set_is_followed_by_nodes_that_voted_for_it() -> None:
    subject = Subject()
    assert is_granted(subject.ask(vote(4, 1, 4, LONG)))
    assert subject.ask(begin(4, 4)).error is ErrorCode.NONE
    assert subject.node.leader_id == 4


def test_a_node_without_known_voters_follows_any_leader() -> None:
    subject = Subject(4, [])
    assert subject.ask(begin(2, 3)).error is ErrorCode.NONE
    assert subject.node.leader_id == 2


def test_a_node_without_a_leader_for_a_long_time_follows_an_unknown_one() -> None:
    """All the voters that it knows may have been replaced while it was down."""
    subject = Subject()
    silence_ms = RaftSettings().fetch_timeout_ms * SILENT_FETCH_TIMEOUTS
    while subject.now_ms < silence_ms:
        assert subject.ask(begin(4, 9)).error is ErrorCode.INCONSISTENT_VOTER_SET
        subject.wait()
    assert subject.ask(begin(4, 9)).error is ErrorCode.NONE
    assert isinstance(subject.node.state, Follower)


def test_the_only_voter_never_follows_an_unknown_leader() -> None:
    subject = Subject(1, [1])
    subject.now_ms += RaftSettings().fetch_timeout_ms * SILENT_FETCH_TIMEOUTS * 10
    assert subject.ask(begin(4, 9)).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert subject.node.is_leader


def test_a_follower_with_a_live_leader_does_not_follow_an_unknown_one() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    for _ in range(SILENT_FETCH_TIMEOUTS + 1):
        subject.now_ms += RaftSettings().fetch_timeout_ms - 1
        subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b""))
        sends = subject.effects
        assert subject.ask(begin(STRANGER, 2)).error is ErrorCode.INCONSISTENT_VOTER_SET
        subject.effects = sends
    assert subject.node.leader_id == 2


# -- clusters -------------------------------------------------------------------------------------------


def requests_of_nodes(cluster_id: str | None) -> list[Request]:
    return [
        VoteRequest(
            cluster_id=cluster_id, voter=key(1), candidate=key(2), epoch=9, last=EMPTY, is_pre_vote=False
        ),
        BeginQuorumEpochRequest(cluster_id=cluster_id, voter=key(1), leader_id=2, epoch=9),
        EndQuorumEpochRequest(cluster_id=cluster_id, leader_id=2, epoch=9, preferred=()),
        FetchRequest(
            cluster_id=cluster_id,
            replica=key(2),
            epoch=1,
            offset=0,
            last_epoch=0,
            max_wait_ms=0,
            max_bytes=1,
        ),
        FetchSnapshotRequest(
            cluster_id=cluster_id, replica=key(2), epoch=1, snapshot=LONG, position=0, max_bytes=1
        ),
        UpdateVoterRequest(cluster_id=cluster_id, epoch=1, voter=Voter(key=key(2), endpoints=EVIL)),
    ]


@pytest.mark.parametrize("cluster_id", [None, "", "other"])
@pytest.mark.parametrize("number", range(6))
def test_nodes_must_name_the_cluster(number: int, cluster_id: str | None) -> None:
    subject = Subject(1, [1])
    request = requests_of_nodes(cluster_id)[number]
    assert subject.ask(request).error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert not subject.all(Persist)
    assert not subject.all(Append)
    assert subject.node.fault is not None


def test_administrators_and_debugging_consumers_need_not_name_the_cluster() -> None:
    subject = Subject(1, [1])
    subject.sync()
    joining = AddVoterRequest(cluster_id=None, voter=Voter(key=key(1)), timeout_ms=0)
    assert subject.ask(joining).error is ErrorCode.DUPLICATE_VOTER
    leaving = RemoveVoterRequest(cluster_id=None, voter=key(5))
    assert subject.ask(leaving).error is ErrorCode.VOTER_NOT_FOUND
    reading = FetchRequest(
        cluster_id=None,
        replica=ReplicaKey(-1),
        epoch=1,
        offset=0,
        last_epoch=0,
        max_wait_ms=0,
        max_bytes=1,
    )
    subject.handle(RequestArrived("read", reading))
    assert subject.one(AnswerWithRecords).offset == 0
    assert subject.node.fault is None


# -- replicas in a later epoch --------------------------------------------------------------------------


def leading(*voting: int) -> Subject:
    """A leader whose followers keep fetching."""
    subject = Subject(1, voting)
    if len(voting) > 1:
        subject.win()
    subject.sync()
    return subject


def fetch_ahead(subject: Subject, epoch: int) -> ErrorCode:
    for node_id in subject.node.voters.ids[1:]:
        subject.fetched_by(node_id)
    return subject.ask(fetch(4, epoch, EMPTY)).error


@pytest.mark.parametrize("voting", [(1,), (1, 2, 3)])
def test_a_leader_calls_an_election_for_a_replica_that_was_moved_to_a_later_epoch(
    voting: tuple[int, ...],
) -> None:
    subject = leading(*voting)
    led = subject.node.epoch
    timeout_ms = RaftSettings().fetch_timeout_ms
    while subject.node.epoch == led:
        assert fetch_ahead(subject, 40) is ErrorCode.UNKNOWN_LEADER_EPOCH
        assert subject.now_ms < timeout_ms * 5
        subject.handle(Tick(), after_ms=timeout_ms / 4)
    assert subject.now_ms >= timeout_ms * 2  # an election under way is not interrupted
    assert subject.node.epoch >= 40
    subject.win() if len(voting) > 1 else None
    assert subject.node.is_leader
    assert subject.node.epoch == 41


def test_a_leader_calls_no_election_for_an_epoch_that_is_out_of_range() -> None:
    subject = leading(1)
    for _ in range(20):
        assert fetch_ahead(subject, LAST) is ErrorCode.UNKNOWN_LEADER_EPOCH
        subject.handle(Tick(), after_ms=RaftSettings().fetch_timeout_ms / 2)
    assert subject.node.is_leader
    assert subject.node.epoch == 1
