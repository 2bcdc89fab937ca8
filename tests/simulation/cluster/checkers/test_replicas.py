"""The checker of replicas: one leader in an epoch, and committed records are the same on all."""

from types import SimpleNamespace
from typing import cast

import pytest

from penstock.cluster.replica import Replica
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.log.values import LogSlice
from penstock_simulation.cluster.checkers.replicas import ReplicaChecker
from penstock_simulation.violation import ViolationLog


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
        self.violations = ViolationLog()
        self.checker = ReplicaChecker(self.violations)

    def on_follow(self, replica: FakeReplica) -> None:
        self.checker.on_follow(cast("Replica", replica))

    def on_lead(self, replica: FakeReplica) -> None:
        self.checker.on_lead(cast("Replica", replica))

    def on_high_watermark(self, replica: FakeReplica) -> None:
        self.checker.on_high_watermark(cast("Replica", replica))

    def on_truncate(self, replica: FakeReplica, end_offset: int, high_watermark: int) -> None:
        replica.high_watermark = high_watermark
        self.checker.on_truncate(cast("Replica", replica), end_offset)

    @property
    def invariant(self) -> str | None:
        return None if self.violations.first is None else self.violations.first.invariant


@pytest.fixture
def case() -> Case:
    """Two records of epoch 0 are committed."""
    case = Case()
    leader = FakeReplica(1, (0, "a"), (0, "b"))
    case.on_follow(leader)
    case.on_high_watermark(leader)
    return case


def test_equal_replicas_pass(case: Case) -> None:
    case.on_high_watermark(FakeReplica(2, (0, "a")))
    successor = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"), leader=2, epoch=1)
    case.on_follow(successor)
    case.on_lead(successor)
    case.on_high_watermark(successor)
    case.on_truncate(FakeReplica(1, (0, "a"), (0, "b")), 2, 2)
    case.violations.check()


def test_two_leaders_in_an_epoch_are_noticed(case: Case) -> None:
    case.on_follow(FakeReplica(3, leader=2))
    assert case.invariant == "one leader"


def test_another_record_below_a_high_watermark_is_noticed(case: Case) -> None:
    case.on_high_watermark(FakeReplica(2, (0, "a"), (0, "x")))
    assert case.invariant == "logs agree"


def test_a_follower_may_have_had_other_records_before_the_deleted_offset(case: Case) -> None:
    replica = FakeReplica(2, (0, "x"), (0, "y"), (1, "c"))
    case.checker.on_delete_records(cast("Replica", replica), 2)
    case.on_high_watermark(replica)
    case.violations.check()


def test_a_follower_may_have_had_other_records_before_the_offset_that_retention_deleted(case: Case) -> None:
    leader = FakeReplica(1, (0, "a"), (0, "b"), (1, "c"), epoch=1)
    leader.log.log_start_offset = leader.last_stable_offset = 2
    case.checker.retention_topics.add("orders")
    case.checker.on_log_start(cast("Replica", leader), 0)
    case.on_high_watermark(FakeReplica(2, (0, "x"), (0, "y"), (1, "c"), epoch=1))
    case.violations.check()


def test_the_same_record_of_another_epoch_is_noticed(case: Case) -> None:
    case.on_high_watermark(FakeReplica(2, (0, "a"), (1, "b")))
    assert case.invariant == "logs agree"


def test_a_gap_is_noticed(case: Case) -> None:
    replica = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"))
    del replica.batches[1]
    replica.batches.append(b"")
    case.on_high_watermark(replica)
    assert case.invariant == "contiguous"


def test_a_leader_that_lacks_committed_records_is_noticed(case: Case) -> None:
    successor = FakeReplica(2, (0, "a"), leader=2, epoch=1)
    case.on_follow(successor)
    case.on_lead(successor)
    assert case.invariant == "leader completeness"


def test_a_replica_that_learns_late_of_its_leadership_is_not_checked(case: Case) -> None:
    case.on_follow(FakeReplica(3, leader=3, epoch=2))
    case.on_lead(FakeReplica(2, (0, "a"), leader=2, epoch=1))
    case.violations.check()


def test_a_committed_record_that_is_truncated_is_noticed(case: Case) -> None:
    case.on_truncate(FakeReplica(2, (0, "a"), (0, "b")), 1, 2)
    assert case.invariant == "committed truncated"


def test_records_lost_in_an_early_crash_of_all_may_be_truncated_after_a_later_one(case: Case) -> None:
    (key,) = case.checker.names
    case.checker.on_all_crashed(key, 1)
    case.on_follow(FakeReplica(1, (0, "a"), (1, "c"), (1, "d"), epoch=1))
    case.checker.on_all_crashed(key, 2)
    case.on_truncate(FakeReplica(2, (0, "a"), (0, "b")), 1, 2)
    case.violations.check()
    case.on_truncate(FakeReplica(2, (0, "a"), (1, "c")), 1, 2)
    assert case.invariant == "committed truncated"


def test_a_replica_is_checked_again_after_a_truncation(case: Case) -> None:
    replica = FakeReplica(2, (0, "a"), (0, "b"), (0, "c"))
    case.on_high_watermark(replica)
    case.on_truncate(replica, 1, 1)
    replica.batches[1] = build_batch([NewRecord(value=b"x")], base_offset=1, leader_epoch=1)
    replica.high_watermark = 3
    case.on_high_watermark(replica)
    assert case.invariant == "logs agree"


def test_a_topic_with_unclean_elections_and_a_corrupted_replica_are_excused(case: Case) -> None:
    case.checker.corrupted.add((2, "orders-0"))
    case.on_high_watermark(FakeReplica(2, (0, "x")))
    case.on_truncate(FakeReplica(2), 0, 1)
    case.checker.unclean_topics.add("orders")
    case.on_high_watermark(FakeReplica(3, (0, "x")))
    case.on_lead(FakeReplica(3, epoch=9))
    case.violations.check()
