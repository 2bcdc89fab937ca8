"""A follower: fetches, truncations and snapshots."""

from penstock.cluster.raft.effects import (
    Append,
    Committed,
    InstallSnapshot,
    StoreSnapshotChunk,
    Truncate,
)
from penstock.cluster.raft.events import (
    ResponseArrived,
    SnapshotInstalled,
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
from penstock.cluster.raft.states import Follower
from penstock.cluster.raft.values import LogPosition, RaftSettings
from penstock.protocol.errors import ErrorCode
from penstock.storage.leader_epochs import EpochEntry
from tests.cluster.raft.support import batch, follows, records, voters


def test_the_next_fetch_waits_until_the_records_of_the_last_one_are_on_disk() -> None:
    subject = follows()
    send = subject.sends(FetchRequest)[0]
    subject.respond(send, records(1, 2, batch("a", epoch=1)))
    assert not subject.sends(FetchRequest)
    subject.handle(Synced(1))
    request = subject.sends(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    assert (request.offset, request.last_epoch) == (1, 1)


def test_a_follower_commits_up_to_the_leaders_high_watermark_and_its_own_end() -> None:
    subject = follows()
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=1), high_watermark=7))
    assert subject.one(Committed).offset == 1


def test_a_follower_has_caught_up_when_it_has_all_that_the_leader_has_committed() -> None:
    subject = follows()
    assert not subject.node.is_caught_up
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=1), high_watermark=2))
    assert not subject.node.is_caught_up
    subject.handle(Synced(1))
    more = records(1, 2, batch("b", epoch=1, offset=1), high_watermark=2)
    subject.respond(subject.sends(FetchRequest)[0], more)
    assert subject.node.is_caught_up


def test_a_diverged_log_is_truncated_by_epoch() -> None:
    log = LogShape(end_offset=20, synced_offset=20, epochs=[EpochEntry(1, 0), EpochEntry(2, 10)])
    subject = follows(epoch=5, log=log)
    answer = FetchResponse(epoch=5, leader_id=2, diverging=LogPosition(1, 15))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    assert subject.one(Truncate).end_offset == 10
    request = subject.sends(FetchRequest)[0].request
    assert isinstance(request, FetchRequest)
    assert (request.offset, request.last_epoch) == (10, 1)


def test_committed_records_are_never_truncated() -> None:
    log = LogShape(end_offset=2, synced_offset=2, epochs=[EpochEntry(1, 0)])
    subject = follows(epoch=1, log=log)
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, b"", high_watermark=2))
    again = subject.sends(FetchRequest)[0]
    subject.respond(again, FetchResponse(epoch=1, leader_id=2, diverging=LogPosition(0, 0)))
    assert not subject.all(Truncate)
    assert subject.node.fault is not None
    assert "committed" in str(subject.node.fault)


def test_a_damaged_batch_is_not_appended() -> None:
    subject = follows()
    damaged = bytearray(batch("a", epoch=1))
    damaged[-1] ^= 1
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, bytes(damaged)))
    assert not subject.all(Append)
    assert subject.node.fault is not None
    assert "CRC" in str(subject.node.fault)


def test_records_of_a_future_epoch_are_not_appended() -> None:
    subject = follows()
    subject.respond(subject.sends(FetchRequest)[0], records(1, 2, batch("a", epoch=2)))
    assert not subject.all(Append)


def test_a_duplicated_answer_is_appended_once() -> None:
    subject = follows()
    send = subject.sends(FetchRequest)[0]
    response = records(1, 2, batch("a", epoch=1))
    subject.respond(send, response)
    subject.handle(ResponseArrived(send.request_id, response))
    assert not subject.all(Append)
    assert subject.node.log.end_offset == 1


def test_a_follower_without_a_leader_starts_an_election() -> None:
    subject = follows()
    subject.handle(Tick(), after_ms=RaftSettings().fetch_timeout_ms + 1)
    assert not isinstance(subject.node.state, Follower)


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


def test_a_snapshot_that_the_leader_has_deleted_is_no_longer_fetched() -> None:
    subject = follows(epoch=4)
    answer = FetchResponse(epoch=4, leader_id=2, snapshot=LogPosition(3, 50))
    subject.respond(subject.sends(FetchRequest)[0], answer)
    gone = FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND, epoch=4, leader_id=2)
    subject.respond(subject.sends(FetchSnapshotRequest)[0], gone)
    assert subject.sends(FetchRequest)
