"""A leader: commits, answers to fetches, and resignation."""

from penstock.cluster.raft.effects import (
    Answer,
    AnswerWithRecords,
    Append,
    AppendAnswered,
    Committed,
    LeaderChanged,
    TakeSnapshot,
)
from penstock.cluster.raft.events import (
    AppendRequested,
    RequestArrived,
    SnapshotTaken,
    Tick,
)
from penstock.cluster.raft.log_shape import LogShape
from penstock.cluster.raft.messages import (
    FetchRequest,
    FetchResponse,
)
from penstock.cluster.raft.states import Resigned
from penstock.cluster.raft.values import Election, LogPosition, RaftSettings
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.control import ControlType, control_type
from penstock.protocol.records.record import iter_records
from penstock.storage.leader_epochs import EpochEntry
from tests.cluster.raft.support import CLUSTER, Subject, batch, fetch, follows, key, voters


def led() -> Subject:
    """A leader of three that has committed the records which open its epoch."""
    subject = Subject()
    subject.win()
    subject.sync()
    subject.fetched_by(2)
    return subject


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


def test_records_of_an_older_leader_are_committed_only_with_a_record_of_this_epoch() -> None:
    log = LogShape(end_offset=5, synced_offset=5, epochs=[EpochEntry(1, 0)])
    subject = Subject(election=Election(epoch=1), log=log)
    subject.win()
    subject.sync()
    subject.handle(RequestArrived("two", fetch(2, 2, LogPosition(1, 5))))
    assert subject.node.high_watermark == 0
    subject.fetched_by(2)
    assert subject.node.high_watermark == subject.node.log.end_offset


def test_decisions_may_be_made_once_the_epoch_has_committed_a_record() -> None:
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


def test_an_append_of_an_earlier_epoch_is_refused() -> None:
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


def test_a_fetch_is_answered_without_records_after_its_wait_time() -> None:
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


def test_a_follower_with_a_diverging_log_gets_the_diverging_epoch() -> None:
    log = LogShape(end_offset=9, synced_offset=9, epochs=[EpochEntry(1, 0), EpochEntry(3, 6)])
    subject = Subject(election=Election(epoch=3), log=log)
    subject.win()
    response = subject.ask(fetch(2, 4, LogPosition(2, 8)))
    assert isinstance(response, FetchResponse)
    assert response.diverging == LogPosition(1, 6)


def test_a_leader_without_fetches_of_a_majority_resigns() -> None:
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


def test_a_grown_log_takes_a_snapshot_and_keeps_the_records_after_the_previous_one() -> None:
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


def test_a_follower_below_the_start_of_the_log_is_sent_to_the_snapshot() -> None:
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
