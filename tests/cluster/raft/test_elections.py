"""Elections: who gets a vote, and what is persisted before it is sent."""

from penstock.cluster.raft.effects import Answer, LeaderChanged, Persist, Send
from penstock.cluster.raft.events import RequestArrived, RequestFailed, ResignRequested, Tick
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    VoteRequest,
    VoteResponse,
)
from penstock.cluster.raft.states import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    Voted,
)
from penstock.cluster.raft.values import Election, LogPosition, RaftSettings
from penstock.protocol.errors import ErrorCode
from penstock.storage.leader_epochs import EpochEntry
from tests.cluster.raft.support import CLUSTER, Subject, fetch, key, records, vote

EMPTY = LogPosition(0, 0)


def granted(response: object) -> bool:
    assert isinstance(response, VoteResponse)
    return response.is_granted


def test_a_quorum_of_one_leads_as_soon_as_it_starts() -> None:
    subject = Subject(1, [1])
    assert subject.node.is_leader
    assert subject.node.epoch == 1
    assert subject.one(Persist).election == Election(epoch=1, leader_id=1, voted=key(1))
    subject.sync()
    assert subject.one(LeaderChanged).leader_id == 1
    assert subject.node.high_watermark == subject.node.log.end_offset


def test_a_candidate_persists_its_own_vote_before_it_sends_requests() -> None:
    subject = Subject()
    subject.win_pre_vote()
    assert isinstance(subject.node.state, Candidate)
    kinds = [type(each) for each in subject.effects]
    assert kinds.index(Persist) < kinds.index(Send)
    assert subject.one(Persist).election == Election(epoch=1, voted=key(1))


def test_a_vote_is_persisted_before_it_is_sent() -> None:
    subject = Subject()
    assert granted(subject.ask(vote(2, 1, 1, EMPTY)))
    kinds = [type(each) for each in subject.effects]
    assert kinds.index(Persist) < kinds.index(Answer)
    assert subject.node.state.__class__ is Voted


def test_a_node_votes_once_in_an_epoch() -> None:
    subject = Subject()
    assert granted(subject.ask(vote(2, 1, 1, EMPTY)))
    assert not granted(subject.ask(vote(3, 1, 1, EMPTY)))
    assert granted(subject.ask(vote(2, 1, 1, EMPTY)))  # the answer was lost
    assert granted(subject.ask(vote(3, 1, 2, EMPTY)))


def test_a_vote_survives_a_restart() -> None:
    subject = Subject(election=Election(epoch=4, voted=key(2)))
    assert not granted(subject.ask(vote(3, 1, 4, EMPTY)))


def test_a_candidate_whose_log_may_lack_records_gets_no_vote() -> None:
    log = LogShape(end_offset=10, synced_offset=10, epochs=[EpochEntry(1, 0), EpochEntry(3, 7)])
    subject = Subject(election=Election(epoch=3), log=log)
    assert not granted(subject.ask(vote(2, 1, 4, LogPosition(2, 100))))
    assert not granted(subject.ask(vote(2, 1, 4, LogPosition(3, 9))))
    assert granted(subject.ask(vote(2, 1, 4, LogPosition(3, 10))))


def test_a_candidate_of_an_older_epoch_is_answered_with_the_newer_one() -> None:
    subject = Subject(election=Election(epoch=5))
    response = subject.ask(vote(2, 1, 4, EMPTY))
    assert response.error is ErrorCode.FENCED_LEADER_EPOCH
    assert response.epoch == 5


def test_a_vote_request_for_a_lost_directory_is_refused() -> None:
    subject = Subject()
    request = VoteRequest(
        cluster_id=CLUSTER, voter=key(1, 99), candidate=key(2), epoch=1, last=EMPTY, is_pre_vote=False
    )
    assert subject.ask(request).error is ErrorCode.INVALID_VOTER_KEY


def test_a_request_of_another_cluster_changes_nothing() -> None:
    subject = Subject()
    request = VoteRequest(
        cluster_id="other", voter=key(1), candidate=key(2), epoch=9, last=EMPTY, is_pre_vote=False
    )
    assert subject.ask(request).error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert subject.node.epoch == 0


def test_a_pre_vote_raises_no_epoch_and_writes_nothing() -> None:
    subject = Subject()
    subject.wait()
    assert isinstance(subject.node.state, Prospective)
    assert subject.node.epoch == 0
    assert subject.all(Persist) == []
    requests = [send.request for send in subject.sends(VoteRequest)]
    assert all(isinstance(each, VoteRequest) and each.is_pre_vote for each in requests)


def test_a_follower_with_a_live_leader_grants_no_pre_vote() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    assert granted(subject.ask(vote(3, 1, 1, EMPTY, is_pre_vote=True)))
    subject = Subject(election=Election(epoch=1, leader_id=2))
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b""))
    assert not granted(subject.ask(vote(3, 1, 1, EMPTY, is_pre_vote=True)))


def following(leader_id: int = 2) -> Subject:
    """A follower that has fetched from its leader, and asks again."""
    subject = Subject(election=Election(epoch=1, leader_id=leader_id))
    subject.respond(subject.sends(FetchRequest)[0], records(1, leader_id, b""))
    return subject


def test_a_follower_refused_by_the_leaders_host_starts_an_election_soon_and_grants_pre_votes() -> None:
    subject = following()
    subject.handle(RequestFailed(subject.sends(FetchRequest)[0].request_id, is_refused=True))
    assert subject.node.next_deadline_ms - subject.now_ms < RaftSettings().election_timeout_ms / 4
    assert granted(subject.ask(vote(3, 1, 1, EMPTY, is_pre_vote=True)))
    while isinstance(subject.node.state, Follower):
        subject.wait()
    assert isinstance(subject.node.state, Prospective)
    assert subject.now_ms < RaftSettings().election_timeout_ms


def test_a_broken_connection_to_the_leader_alone_starts_no_election() -> None:
    subject = following()
    subject.handle(RequestFailed(subject.sends(FetchRequest)[0].request_id))
    assert not granted(subject.ask(vote(3, 1, 1, EMPTY, is_pre_vote=True)))
    subject.handle(Tick(), after_ms=RaftSettings().fetch_timeout_ms / 2)
    assert isinstance(subject.node.state, Follower)


def test_a_node_that_finds_the_leader_alive_does_not_start_an_election_at_every_refusal() -> None:
    subject = following()
    subject.handle(RequestFailed(subject.sends(FetchRequest)[0].request_id, is_refused=True))
    while not subject.sends(VoteRequest):
        subject.wait()
    for send in subject.sends(VoteRequest):
        subject.respond(send, VoteResponse(epoch=1, leader_id=2, is_granted=False))
    while not subject.sends(FetchRequest):
        subject.wait()
    back_ms = subject.now_ms
    subject.handle(RequestFailed(subject.sends(FetchRequest)[0].request_id, is_refused=True))
    while isinstance(subject.node.state, Follower):
        subject.wait()
    assert subject.now_ms - back_ms >= RaftSettings().election_timeout_ms / 2


def test_an_election_lost_because_a_voter_is_unreachable_is_retried_after_a_backoff() -> None:
    subject = Subject()
    subject.win_pre_vote()
    rejecting, gone = subject.sends(VoteRequest)
    subject.respond(rejecting, VoteResponse(epoch=1, is_granted=False))
    subject.handle(RequestFailed(gone.request_id, is_refused=True))
    lost_ms = subject.now_ms
    subject.wait()
    assert isinstance(subject.node.state, Prospective)
    assert subject.now_ms - lost_ms < RaftSettings().election_timeout_ms


def test_a_majority_of_votes_makes_a_leader() -> None:
    subject = Subject()
    subject.win()
    assert isinstance(subject.node.state, Leader)
    assert subject.one(Persist).election == Election(epoch=1, leader_id=1, voted=key(1))
    assert {send.to for send in subject.sends(BeginQuorumEpochRequest)} == {2, 3}


def test_votes_of_observers_do_not_count() -> None:
    subject = Subject(1, [1, 2, 3, 4, 5])
    subject.wait()
    for send in subject.sends(VoteRequest)[:2]:
        subject.respond(send, VoteResponse(epoch=0, is_granted=True))
    assert isinstance(subject.node.state, Candidate)
    first = subject.sends(VoteRequest)[0]
    subject.respond(first, VoteResponse(epoch=1, is_granted=True))
    assert isinstance(subject.node.state, Candidate)


def test_an_answer_to_a_pre_vote_does_not_count_as_a_vote() -> None:
    subject = Subject()
    subject.wait()
    pre_votes = subject.sends(VoteRequest)
    subject.respond(pre_votes[0], VoteResponse(epoch=0, is_granted=True))
    assert isinstance(subject.node.state, Candidate)
    subject.respond(pre_votes[1], VoteResponse(epoch=0, is_granted=True))
    assert isinstance(subject.node.state, Candidate)


def test_a_lost_election_is_retried_after_a_backoff() -> None:
    subject = Subject()
    subject.win_pre_vote()
    for send in subject.sends(VoteRequest):
        subject.respond(send, VoteResponse(epoch=1, is_granted=False))
    assert isinstance(subject.node.state, Candidate)
    subject.wait()
    assert isinstance(subject.node.state, Prospective)


def test_a_higher_epoch_in_an_answer_ends_a_candidacy() -> None:
    subject = Subject()
    subject.win_pre_vote()
    subject.respond(subject.sends(VoteRequest)[0], VoteResponse(epoch=7, is_granted=False))
    assert isinstance(subject.node.state, Unattached)
    assert subject.node.epoch == 7


def test_the_leader_of_an_epoch_is_followed() -> None:
    subject = Subject()
    subject.ask(BeginQuorumEpochRequest(cluster_id=CLUSTER, voter=key(1), leader_id=3, epoch=2))
    assert isinstance(subject.node.state, Follower)
    assert subject.node.leader_id == 3
    assert subject.one(Persist).election == Election(epoch=2, leader_id=3)
    assert subject.sends(FetchRequest)[0].to == 3


def test_a_restarted_leader_does_not_lead_its_epoch_again() -> None:
    subject = Subject(election=Election(epoch=3, leader_id=1, voted=key(1)))
    assert not subject.node.is_leader
    assert not granted(subject.ask(vote(2, 1, 3, EMPTY)))
    subject.win()
    assert subject.node.epoch == 4


def test_the_preferred_successor_starts_an_election_at_once() -> None:
    subject = Subject(election=Election(epoch=1, leader_id=2))
    request = EndQuorumEpochRequest(cluster_id=CLUSTER, leader_id=2, epoch=1, preferred=(key(1), key(3)))
    subject.ask(request)
    assert isinstance(subject.node.state, Prospective)


def test_a_resigning_leader_names_the_most_advanced_voter_first_and_repeats_until_all_have_answered() -> None:
    subject = Subject()
    subject.win()
    subject.sync()
    subject.fetched_by(3)
    subject.handle(ResignRequested(is_for_good=True))
    assert isinstance(subject.node.state, Resigned)
    for send in subject.sends(EndQuorumEpochRequest):
        assert isinstance(send.request, EndQuorumEpochRequest)
        assert [each.node_id for each in send.request.preferred] == [3, 2]
    assert subject.node.leader_id is None


def test_an_observer_never_starts_an_election() -> None:
    subject = Subject(4, [1, 2, 3])
    for _ in range(10):
        subject.wait()
        assert isinstance(subject.node.state, Unattached)
        assert not subject.sends(VoteRequest)


def test_an_observer_finds_the_leader_by_asking_any_node() -> None:
    subject = Subject(4, [1, 2, 3])
    send = subject.sends(FetchRequest)[0]
    subject.respond(send, records(6, 2, b""))
    assert subject.node.leader_id == 2
    assert subject.sends(FetchRequest)[0].to == 2


def test_an_observer_may_vote_because_it_may_not_know_yet_that_it_is_a_voter() -> None:
    subject = Subject(4, [1, 2, 3])
    assert granted(subject.ask(vote(2, 4, 1, EMPTY)))


def test_a_leader_refuses_fetches_of_other_epochs() -> None:
    subject = Subject()
    subject.win()
    subject.handle(RequestArrived("old", fetch(2, 0, EMPTY)))
    assert subject.one(Answer).response.error is ErrorCode.FENCED_LEADER_EPOCH
    subject.handle(RequestArrived("new", fetch(2, 9, EMPTY)))
    assert subject.one(Answer).response.error is ErrorCode.UNKNOWN_LEADER_EPOCH
