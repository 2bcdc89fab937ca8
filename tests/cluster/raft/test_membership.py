"""Voters are added and removed, one at a time (KIP-853)."""

import pytest

from penstock.cluster.raft.effects import Answer, Committed
from penstock.cluster.raft.events import RequestArrived, Tick
from penstock.cluster.raft.messages import (
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from penstock.cluster.raft.records import leader_change_batch, voters_batch
from penstock.cluster.raft.states import Resigned
from penstock.cluster.raft.values import Address, Election, LogPosition, RaftSettings
from penstock.cluster.raft.voters import Voter, VoterHistory, VoterSet
from penstock.protocol.errors import ErrorCode
from tests.cluster.raft.support import CLUSTER, Subject, batch, key, records, voters


def led(*voting: int) -> Subject:
    subject = Subject(1, voting)
    if len(voting) > 1:
        subject.win()
    subject.sync()
    for node_id in voting[1:]:
        subject.fetched_by(node_id)
    assert not subject.node.is_changing_voters
    return subject


def ids(subject: Subject) -> tuple[int, ...]:
    return subject.node.voters.ids


def add(node_id: int, directory: int | None = None) -> AddVoterRequest:
    return AddVoterRequest(cluster_id=CLUSTER, voter=Voter(key=key(node_id, directory)), timeout_ms=1000)


def remove(node_id: int) -> RemoveVoterRequest:
    return RemoveVoterRequest(cluster_id=CLUSTER, voter=key(node_id))


def error(subject: Subject) -> ErrorCode:
    response = subject.one(Answer).response
    assert isinstance(response, VoterChangeResponse)
    return response.error


def test_a_voter_is_added_when_it_has_caught_up_and_the_change_is_committed() -> None:
    subject = led(1)
    subject.handle(RequestArrived("add", add(2)))
    assert ids(subject) == (1,)  # it has not fetched yet
    subject.fetched_by(2)
    assert ids(subject) == (1, 2)  # in force, though not committed
    subject.sync()
    assert not subject.all(Answer)
    subject.fetched_by(2)
    assert subject.all(Answer, lambda each: each.token == "add")
    assert subject.all(Committed)


def test_a_voter_that_does_not_catch_up_in_time_is_not_added() -> None:
    subject = led(1)
    subject.handle(RequestArrived("add", add(2)))
    subject.handle(Tick(), after_ms=1001)
    assert error(subject) is ErrorCode.REQUEST_TIMED_OUT
    subject.fetched_by(2)
    assert ids(subject) == (1,)


def test_no_second_change_while_the_first_is_not_committed() -> None:
    subject = led(1, 2, 3)
    subject.fetched_by(4)
    subject.handle(RequestArrived("add", add(4)))
    assert ids(subject) == (1, 2, 3, 4)
    subject.handle(RequestArrived("remove", remove(3)))
    assert error(subject) is ErrorCode.REQUEST_TIMED_OUT
    assert ids(subject) == (1, 2, 3, 4)


def test_no_change_before_the_leader_has_committed_anything() -> None:
    subject = Subject()
    subject.win()
    subject.handle(RequestArrived("remove", remove(3)))
    assert error(subject) is ErrorCode.REQUEST_TIMED_OUT


def test_a_node_id_that_votes_already_is_refused_with_any_directory() -> None:
    subject = led(1, 2, 3)
    subject.handle(RequestArrived("add", add(3, directory=77)))
    assert error(subject) is ErrorCode.DUPLICATE_VOTER


def test_the_fetches_of_another_directory_do_not_count_for_the_voter_of_that_id() -> None:
    subject = Subject()
    subject.win()
    subject.sync()
    end = subject.node.log.end
    subject.handle(
        RequestArrived(
            "stranger",
            FetchRequest(
                cluster_id=CLUSTER,
                replica=key(2, 77),
                epoch=1,
                offset=end.offset,
                last_epoch=end.epoch,
                max_wait_ms=0,
                max_bytes=1,
            ),
        )
    )
    assert subject.node.high_watermark == 0


def test_the_only_voter_cannot_be_removed() -> None:
    subject = led(1)
    subject.handle(RequestArrived("remove", remove(1)))
    assert error(subject) is ErrorCode.INVALID_REQUEST


def test_a_removal_that_leaves_no_live_majority_is_refused() -> None:
    subject = Subject()
    subject.win()
    subject.sync()
    subject.fetched_by(2)  # node 3 is down
    subject.handle(RequestArrived("remove", remove(2)))
    assert error(subject) is ErrorCode.INVALID_REQUEST
    subject.handle(RequestArrived("remove", remove(3)))
    assert ids(subject) == (1, 2)


def test_a_node_that_is_not_a_voter_cannot_be_removed() -> None:
    subject = led(1, 2, 3)
    subject.handle(RequestArrived("remove", remove(9)))
    assert error(subject) is ErrorCode.VOTER_NOT_FOUND


def test_a_leader_commits_its_own_removal_and_then_resigns() -> None:
    subject = led(1, 2, 3)
    subject.handle(RequestArrived("remove", remove(1)))
    assert ids(subject) == (2, 3)
    subject.sync()
    subject.fetched_by(2)
    assert subject.node.is_leader  # one of two is no majority, and the leader no longer counts
    subject.fetched_by(3)
    assert isinstance(subject.node.state, Resigned)


def test_a_truncation_undoes_an_uncommitted_voter_set() -> None:
    follower = Subject(2, election=Election(epoch=1, leader_id=1))
    data = leader_change_batch(1, voters(1, 2, 3), [1], offset=0, epoch=1, timestamp=0)
    data += voters_batch(voters(1, 2, 3, 4), offset=1, epoch=1, timestamp=0)
    follower.respond(follower.sends(FetchRequest)[0], records(1, 1, data))
    assert ids(follower) == (1, 2, 3, 4)
    follower.sync()
    answer = FetchResponse(epoch=1, leader_id=1, diverging=LogPosition(1, 1))
    follower.respond(follower.sends(FetchRequest)[0], answer)
    assert ids(follower) == (1, 2, 3)


def test_an_observer_asks_to_become_a_voter_if_it_is_configured_to() -> None:
    subject = Subject(4, settings=RaftSettings(auto_join=True), election=Election(epoch=1, leader_id=2))
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=1)))
    send = subject.sends(AddVoterRequest)[0]
    assert isinstance(send.request, AddVoterRequest)
    assert send.request.voter.key == key(4)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, "the voters are static (kraft.version 0)"),
        (ErrorCode.INVALID_REQUEST, "does not make this node a voter: not at that address"),
        (ErrorCode.REQUEST_TIMED_OUT, None),  # asked again soon
    ],
)
def test_an_observer_that_cannot_become_a_voter_says_why(error: ErrorCode, reason: str | None) -> None:
    subject = Subject(4, settings=RaftSettings(auto_join=True), election=Election(epoch=1, leader_id=2))
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b""))
    send = subject.sends(AddVoterRequest)[0]
    subject.respond(send, VoterChangeResponse(error=error, message="not at that address"))
    fault = subject.node.take_fault()
    assert (reason is None and fault is None) or (reason or "") in str(fault)


def test_a_removed_voter_does_not_ask_to_join_again_while_it_runs() -> None:
    subject = Subject(3, settings=RaftSettings(auto_join=True), election=Election(epoch=1, leader_id=2))
    removal = voters_batch(voters(1, 2), offset=0, epoch=1, timestamp=0)
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, removal, high_watermark=0))
    assert not subject.node.is_voter
    assert not subject.sends(AddVoterRequest)  # not even before that is committed
    for _ in range(5):
        subject.sync()
        for send in subject.sends(FetchRequest):
            subject.respond(send, records(1, 2, b"", high_watermark=1))
            assert not subject.sends(AddVoterRequest)
        subject.wait()
        assert not subject.sends(AddVoterRequest)


def test_a_node_with_a_new_disk_has_its_old_directory_removed_first() -> None:
    old = VoterSet([*voters(1, 2), Voter(key=key(3, 99))])
    subject = Subject(
        3,
        history=VoterHistory(old),
        settings=RaftSettings(auto_join=True),
        election=Election(epoch=1, leader_id=2),
    )
    assert not subject.node.is_voter
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b""))
    send = subject.sends(RemoveVoterRequest)[0]
    assert isinstance(send.request, RemoveVoterRequest)
    assert send.request.voter == key(3, 99)


def test_a_voter_with_a_new_address_updates_the_leader() -> None:
    here = (Address("PLAINTEXT", "here", 9092),)
    subject = Subject(3, election=Election(epoch=1, leader_id=2), endpoints=here)
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b""))
    send = subject.sends(UpdateVoterRequest)[0]
    assert isinstance(send.request, UpdateVoterRequest)
    assert send.request.voter.endpoints == here


def test_the_quorum_is_described_by_its_leader() -> None:
    subject = led(1, 2, 3)
    subject.fetched_by(4)
    response = subject.ask(DescribeQuorumRequest())
    assert isinstance(response, DescribeQuorumResponse)
    assert [each.key.node_id for each in response.voters] == [1, 2, 3]
    assert [each.log_end_offset for each in response.voters] == [3, 3, 3]
    assert [each.key.node_id for each in response.observers] == [4]
    assert response.high_watermark == 3
