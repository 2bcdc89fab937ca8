"""Leading and following: what is fetched, cut, committed, and when."""

from penstock.cluster.raft.effects import (
    Answer,
    AnswerWithRecords,
    Append,
    AppendAnswered,
    Committed,
    InstallSnapshot,
    LeaderChanged,
    StoreSnapshotChunk,
    TakeSnapshot,
    Truncate,
)
from penstock.cluster.raft.events import (
    AppendRequested,
    RequestArrived,
    ResponseArrived,
    SnapshotInstalled,
    SnapshotTaken,
    Synced,
    Tick,
)
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from penstock.cluster.raft.states import Follower, Resigned
from penstock.cluster.raft.values import Election, LogPosition, RaftSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.record import iter_records
from penstock.storage.leader_epochs import EpochEntry
from tests.cluster.raft.support import CLUSTER, Subject, batch, fetch, key, records, voters


def led() -> Subject:
    """A leader of three that has committed the records which open its epoch."""
    subject = Subject()
    subject.win()
    subject.sync()
    subject.fetched_by(2)
    return subject


def follows(epoch: int = 1, leader_id: int = 2, log: LogShape | None = None) -> Subject:
    return Subject(election=Election(epoch=epoch, leader_id=leader_id), log=log)


# -- leading ------------------------------------------------------------------------------------------------


def test_an_epoch_opens_with_a_record_and_a_new_quorum_with_its_voters() -> None:
    subject = Subject()
    subject.win()
    kinds = [
        control_type(record.key) for effect in subject.all(Append) for record in iter_records(effect.batches)
    ]
    assert kinds == [ControlType.LEADER_CHANGE, ControlType.KRAFT_VERSION, ControlType.KRAFT_VOTERS]


def test_nothing_is_committed_until_a_majority_has_it_on_disk() -> None:
    subject = Subject()
    subject.win()
    subject.fetched_by(2)
    assert subject.node.high_watermark == 0  # the leader's own disk counts when it is synced
    subject.sync()
    assert subject.node.high_watermark == 3
    subject.handle(AppendRequested("mine", 1, batch("a")))
    assert subject.one(AppendAnswered).last_offset == 3
    subject.sync()
    assert not subject.all(Committed)
    subject.fetched_by(3)
    assert subject.one(Committed).offset == 4


def test_what_an_older_leader_left_is_committed_only_with_a_record_of_this_epoch() -> None:
    log = LogShape(end_offset=5, synced_offset=5, epochs=[EpochEntry(1, 0)])
    subject = Subject(election=Election(epoch=1), log=log)
    subject.win()
    subject.sync()
    subject.handle(RequestArrived("two", fetch(2, 2, LogPosition(1, 5))))
    assert subject.node.high_watermark == 0
    subject.fetched_by(2)
    assert subject.node.high_watermark == subject.node.log.end_offset


def test_decisions_may_be_made_when_the_epoch_has_begun_to_commit() -> None:
    subject = Subject()
    subject.win()
    assert not subject.all(LeaderChanged)
    subject.sync()
    subject.fetched_by(2)
    assert subject.one(LeaderChanged) == LeaderChanged(1, 1)


def test_an_append_to_a_node_that_does_not_lead_is_refused() -> None:
    subject = follows()
    subject.handle(AppendRequested("mine", 1, batch("a")))
    assert subject.one(AppendAnswered).error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_append_of_an_epoch_that_is_over_is_refused() -> None:
    subject = led()
    subject.handle(AppendRequested("mine", 0, batch("a")))
    assert subject.one(AppendAnswered).error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_at_the_end_waits_for_records_and_is_answered_by_them() -> None:
    subject = led()
    parked = FetchRequest(
        cluster_id=CLUSTER,
        replica=key(2),
        epoch=1,
        offset=3,
        last_epoch=1,
        max_wait_ms=500,
        max_bytes=1,
        high_watermark=3,
    )
    subject.handle(RequestArrived("parked", parked))
    assert not subject.all(Answer)
    subject.handle(AppendRequested("mine", 1, batch("a")))
    answer = subject.one(AnswerWithRecords)
    assert (answer.token, answer.offset, answer.offset_limit) == ("parked", 3, 4)


def test_a_fetch_that_has_waited_long_enough_is_answered_without_records() -> None:
    subject = led()
    parked = FetchRequest(
        cluster_id=CLUSTER,
        replica=key(2),
        epoch=1,
        offset=3,
        last_epoch=1,
        max_wait_ms=100,
        max_bytes=1,
        high_watermark=3,
    )
    subject.handle(RequestArrived("parked", parked))
    subject.handle(Tick(), after_ms=101)
    assert isinstance(subject.one(Answer).response, FetchResponse)


def test_a_follower_whose_log_parts_from_the_leaders_is_told_where() -> None:
    log = LogShape(end_offset=9, synced_offset=9, epochs=[EpochEntry(1, 0), EpochEntry(3, 6)])
    subject = Subject(election=Election(epoch=3), log=log)
    subject.win()
    response = subject.ask(fetch(2, 4, LogPosition(2, 8)))
    assert isinstance(response, FetchResponse)
    assert response.diverging == LogPosition(1, 6)


def test_a_leader_that_no_majority_hears_gives_up() -> None:
    subject = led()
    subject.handle(Tick(), after_ms=RaftSettings().fetch_timeout_ms * 1.5 + 1)
    assert isinstance(subject.node.state, Resigned)
    assert subject.one(LeaderChanged).leader_id is None


def test_one_voter_of_three_that_fetches_keeps_the_leader() -> None:
    subject = led()
    for _ in range(20):
        subject.handle(Tick(), after_ms=500)
        subject.fetched_by(3)
    assert subject.node.is_leader


# -- following ----------------------------------------------------------------------------------------------


def test_the_next_fetch_waits_until_what_the_last_one_brought_is_on_disk() -> None:
    subject = follows()
    send = subject.sends(FetchRequest)[0]
    subject.respond(send, records(1, 2, batch("a", epoch=1)))
    assert not subject.sends(FetchRequest)
    subject.handle(Synced(1))
    request = subject.sends(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    assert (request.offset, request.last_epoch) == (1, 1)


def test_a_follower_knows_as_committed_what_it_has_and_the_leader_says() -> None:
    subject = follows()
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=1), high_watermark=7))
    assert subject.one(Committed).offset == 1


def test_a_log_that_parts_from_the_leaders_is_cut_by_epoch() -> None:
    log = LogShape(end_offset=20, synced_offset=20, epochs=[EpochEntry(1, 0), EpochEntry(2, 10)])
    subject = follows(epoch=5, log=log)
    answer = FetchResponse(epoch=5, leader_id=2, diverging=LogPosition(1, 15))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    assert subject.one(Truncate).end_offset == 10
    request = subject.sends(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    assert (request.offset, request.last_epoch) == (10, 1)


def test_what_is_committed_is_never_cut() -> None:
    log = LogShape(end_offset=2, synced_offset=2, epochs=[EpochEntry(1, 0)])
    subject = follows(epoch=1, log=log)
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b"", high_watermark=2))
    again = subject.sends(FetchRequest)[0]
    subject.respond(again, FetchResponse(epoch=1, leader_id=2, diverging=LogPosition(0, 0)))
    assert not subject.all(Truncate)
    assert subject.node.fault is not None
    assert "committed" in str(subject.node.fault)


def test_a_damaged_batch_is_not_taken_in() -> None:
    subject = follows()
    damaged = bytearray(batch("a", epoch=1))
    damaged[-1] ^= 1
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, bytes(damaged)))
    assert not subject.all(Append)
    assert subject.node.fault is not None
    assert "CRC" in str(subject.node.fault)


def test_records_of_an_epoch_that_has_not_been_are_not_taken_in() -> None:
    subject = follows()
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=2)))
    assert not subject.all(Append)


def test_an_answer_that_comes_twice_is_taken_in_once() -> None:
    subject = follows()
    send = subject.sends(FetchRequest)[0]
    response = records(1, 2, batch("a", epoch=1))
    subject.respond(send, response)
    subject.handle(ResponseArrived(send.request_id, response))
    assert not subject.all(Append)
    assert subject.node.log.end_offset == 1


def test_a_follower_that_hears_nothing_stands_for_election() -> None:
    subject = follows()
    subject.handle(Tick(), after_ms=RaftSettings().fetch_timeout_ms + 1)
    assert not isinstance(subject.node.state, Follower)


# -- snapshots ----------------------------------------------------------------------------------------------


def test_a_log_that_has_grown_asks_for_a_snapshot_and_keeps_what_lies_after_the_one_before() -> None:
    subject = Subject(1, [1], settings=RaftSettings(snapshot_after_bytes=1))
    subject.sync()
    first = subject.one(TakeSnapshot).snapshot
    assert first == LogPosition(1, 3)
    subject.handle(SnapshotTaken(first))
    assert subject.node.log.start_offset == 0
    subject.handle(AppendRequested("mine", 1, batch("a")))
    subject.sync()
    second = subject.one(TakeSnapshot).snapshot
    assert second == LogPosition(1, 4)
    subject.handle(SnapshotTaken(second))
    assert subject.node.log.start_offset == 3
    assert subject.node.log.snapshots == [first, second]
    assert subject.node.voters_at(4) == voters(1)


def test_a_follower_that_is_behind_the_start_of_the_log_takes_the_snapshot_first() -> None:
    log = LogShape(
        start_offset=50,
        end_offset=60,
        synced_offset=60,
        epochs=[EpochEntry(3, 50)],
        snapshots=[LogPosition(3, 50)],
    )
    subject = Subject(election=Election(epoch=3), log=log)
    subject.win()
    response = subject.ask(fetch(2, 4, LogPosition(2, 40)))
    assert isinstance(response, FetchResponse)
    assert response.snapshot == LogPosition(3, 50)


def test_a_snapshot_is_fetched_in_chunks_and_then_replaces_the_log() -> None:
    subject = follows(epoch=4)
    snapshot = LogPosition(3, 50)
    answer = FetchResponse(epoch=4, leader_id=2, snapshot=snapshot)
    subject.respond(subject.sends(FetchRequest)[0], answer)
    for position, data in ((0, b"abc"), (3, b"de")):
        send = subject.sends(FetchSnapshotRequest)[0]
        assert isinstance(send.request, FetchSnapshotRequest)
        assert send.request.position == position
        chunk = FetchSnapshotResponse(
            epoch=4, leader_id=2, snapshot=snapshot, size_bytes=5, position=position, data=data
        )
        subject.respond(send, chunk)
        assert subject.one(StoreSnapshotChunk) == StoreSnapshotChunk(snapshot, position, data)
    assert subject.one(InstallSnapshot).snapshot == snapshot
    subject.handle(SnapshotInstalled(snapshot, voters(1, 2, 3, 4)))
    request = subject.sends(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    assert (request.offset, request.last_epoch) == (50, 3)
    assert subject.node.high_watermark == 50
    assert subject.node.voters.ids == (1, 2, 3, 4)


def test_a_snapshot_that_the_leader_has_dropped_is_asked_for_no_more() -> None:
    subject = follows(epoch=4)
    answer = FetchResponse(epoch=4, leader_id=2, snapshot=LogPosition(3, 50))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    gone = FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND, epoch=4, leader_id=2)
    subject.respond(subject.sends(FetchSnapshotRequest)[0], gone)
    assert subject.sends(FetchRequest)
