"""The checker of replicas: one leader in an epoch, nothing committed is lacking or other elsewhere."""

from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.log.values import LogSlice
from penstock.testing.simulation.cluster.checkers.replicas import ReplicaChecker
from penstock.testing.simulation.cluster.checkers.verdict import Verdict


class FakeReplica:
    """A log in memory: a batch of one record for each (epoch, value)."""

    def __init__(self, node_id: int, *records: tuple[int, str], leader: int = 1, epoch: int = 0) -> None:
        self.topic, self.topic_id, self.partition = "orders", bytes(16), 0
        self.leader_id, self.leader_epoch = leader, epoch
        self.high_watermark = self.last_stable_offset = len(records)
        self.deps = SimpleNamespace(node_id=node_id)
        self.batches = [
            build_batch([NewRecord(value=value.encode())], base_offset=offset, leader_epoch=each)
            for offset, (each, value) in enumerate(records)
        ]
        self.is_leader = leader == node_id
        self.state = None
        self.log = SimpleNamespace(
            log_start_offset=0,
            log_end_offset=len(records),
            first_missing_offset=None,
            epoch_of=lambda offset: records[offset][0],
            read=self.read,
            files=None,
        )

    def read(self, offset: int, _size_bytes: int, *, offset_limit: int) -> LogSlice:
        return LogSlice(b"".join(self.batches[offset:offset_limit]), offset_limit)


class Case:
    def __init__(self) -> None:
        self.verdict = Verdict()
        self.checker = ReplicaChecker(self.verdict)

    def follows(self, replica: FakeReplica) -> None:
        self.checker.follows(cast("Replica", replica))

    def leads(self, replica: FakeReplica) -> None:
        self.checker.leads(cast("Replica", replica))

    def commits(self, replica: FakeReplica) -> None:
        self.checker.commits(cast("Replica", replica))

    def cuts(self, replica: FakeReplica, end_offset: int, high_watermark: int) -> None:
        replica.high_watermark = high_watermark
        self.checker.cuts(cast("Replica", replica), end_offset)

    @property
    def invariant(self) -> str | None:
        return None if self.verdict.violation is None else self.verdict.violation.invariant


@pytest.fixture
def case() -> Case:
    """Two records of epoch 0 are committed."""
    case = Case()
    leader = FakeReplica(1, (0, "a"), (0, "b"))
    case.follows(leader)
    case.commits(leader)
    return case


def test_replicas_that_have_the_same_pass(case: Case) -> None:
    case.commits(FakeReplica(2, (0, "a")))
    successor = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"), leader=2, epoch=1)
    case.follows(successor)
    case.leads(successor)
    case.commits(successor)
    case.cuts(FakeReplica(1, (0, "a"), (0, "b")), 2, 2)
    case.verdict.check()


def test_two_leaders_in_an_epoch_are_noticed(case: Case) -> None:
    case.follows(FakeReplica(3, leader=2))
    assert case.invariant == "one leader"


def test_another_record_below_a_high_watermark_is_noticed(case: Case) -> None:
    case.commits(FakeReplica(2, (0, "a"), (0, "x")))
    assert case.invariant == "logs agree"


def test_a_follower_may_have_had_others_before_what_is_deleted(case: Case) -> None:
    replica = FakeReplica(2, (0, "x"), (0, "y"), (1, "c"))
    case.checker.deletes(cast("Replica", replica), 2)
    case.commits(replica)
    case.verdict.check()


def test_a_follower_may_have_had_others_before_what_its_leader_has_deleted_by_retention(case: Case) -> None:
    leader = FakeReplica(1, (0, "a"), (0, "b"), (1, "c"), epoch=1)
    leader.log.log_start_offset = leader.last_stable_offset = 2
    case.checker.deletable.add("orders")
    case.checker.starts(cast("Replica", leader), 0)
    case.commits(FakeReplica(2, (0, "x"), (0, "y"), (1, "c"), epoch=1))
    case.verdict.check()


def test_the_same_record_of_another_epoch_is_noticed(case: Case) -> None:
    case.commits(FakeReplica(2, (0, "a"), (1, "b")))
    assert case.invariant == "logs agree"


def test_a_gap_is_noticed(case: Case) -> None:
    replica = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"))
    del replica.batches[1]
    replica.batches.append(b"")
    case.commits(replica)
    assert case.invariant == "contiguous"


def test_a_leader_that_lacks_what_is_committed_is_noticed(case: Case) -> None:
    successor = FakeReplica(2, (0, "a"), leader=2, epoch=1)
    case.follows(successor)
    case.leads(successor)
    assert case.invariant == "leader completeness"


def test_one_that_only_now_hears_how_it_once_led_is_none(case: Case) -> None:
    case.follows(FakeReplica(3, leader=3, epoch=2))
    case.leads(FakeReplica(2, (0, "a"), leader=2, epoch=1))
    case.verdict.check()


def test_a_committed_record_that_is_cut_is_noticed(case: Case) -> None:
    case.cuts(FakeReplica(2, (0, "a"), (0, "b")), 1, 2)
    assert case.invariant == "cut"


def test_what_an_early_crash_of_all_has_taken_may_be_cut_after_a_later_one_too(case: Case) -> None:
    (key,) = case.checker.names
    case.checker.crashed_all(key, 1)
    case.follows(FakeReplica(1, (0, "a"), (1, "c"), (1, "d"), epoch=1))
    case.checker.crashed_all(key, 2)
    case.cuts(FakeReplica(2, (0, "a"), (0, "b")), 1, 2)
    case.verdict.check()
    case.cuts(FakeReplica(2, (0, "a"), (1, "c")), 1, 2)
    assert case.invariant == "cut"


def test_after_a_cut_the_replica_is_looked_at_again(case: Case) -> None:
    replica = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"))
    case.commits(replica)
    case.cuts(replica, 1, 1)
    replica.batches[1] = build_batch([NewRecord(value=b"x")], base_offset=1, leader_epoch=1)
    replica.high_watermark = 3
    case.commits(replica)
    assert case.invariant == "logs agree"


def test_a_topic_with_unclean_elections_and_a_rotten_replica_are_excused(case: Case) -> None:
    case.checker.rotten.add((2, "orders-0"))
    case.commits(FakeReplica(2, (0, "x")))
    case.cuts(FakeReplica(2), 0, 1)
    case.checker.excused.add("orders")
    case.commits(FakeReplica(3, (0, "x")))
    case.leads(FakeReplica(3, epoch=9))
    case.verdict.check()
