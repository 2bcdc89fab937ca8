"""The point where two logs diverge, found from their epochs."""

import pytest

from penstock.cluster.raft.log_shape import Diverging, LogShape, NeedsSnapshot
from penstock.cluster.raft.values import LogPosition
from penstock.storage.leader_epochs import EpochEntry


@pytest.fixture
def whole() -> LogShape:
    """Epoch 1 at 0, epoch 3 at 10, epoch 4 at 15; ends at 20."""
    epochs = [EpochEntry(1, 0), EpochEntry(3, 10), EpochEntry(4, 15)]
    return LogShape(end_offset=20, synced_offset=20, epochs=epochs)


@pytest.fixture
def cut() -> LogShape:
    """The same log from a snapshot at 12 on."""
    return LogShape(
        start_offset=12,
        end_offset=20,
        synced_offset=20,
        epochs=[EpochEntry(3, 12), EpochEntry(4, 15)],
        snapshots=[LogPosition(3, 12)],
    )


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (5, 1), (10, 1), (12, 3), (15, 3), (16, 4), (20, 4)])
def test_a_prefix_of_the_log_does_not_diverge(whole: LogShape, offset: int, epoch: int) -> None:
    assert whole.compare(offset, epoch) is None


@pytest.mark.parametrize(
    ("offset", "epoch", "at"),
    [
        (11, 1, LogPosition(1, 10)),
        (12, 2, LogPosition(1, 10)),
        (16, 3, LogPosition(3, 15)),
        (25, 4, LogPosition(4, 20)),
        (25, 5, LogPosition(4, 20)),
    ],
)
def test_a_diverging_log_gets_the_last_epoch_that_both_may_have(
    whole: LogShape, offset: int, epoch: int, at: LogPosition
) -> None:
    assert whole.compare(offset, epoch) == Diverging(at)


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (5, 1), (12, 2), (13, 2)])
def test_a_follower_that_lacks_deleted_records_needs_the_snapshot(
    cut: LogShape, offset: int, epoch: int
) -> None:
    assert cut.compare(offset, epoch) == NeedsSnapshot(LogPosition(3, 12))


def test_a_log_that_ends_at_the_snapshot_continues_from_there(cut: LogShape) -> None:
    assert cut.compare(12, 3) is None
    assert cut.compare(16, 3) == Diverging(LogPosition(3, 15))


def test_a_follower_truncates_to_the_end_of_the_epoch_in_the_shorter_log(whole: LogShape) -> None:
    assert whole.truncation_for(LogPosition(3, 12)) == 12
    assert whole.truncation_for(LogPosition(3, 99)) == 15
    assert whole.truncation_for(LogPosition(2, 99)) == 10  # it has no epoch 2: all after epoch 1 is truncated
    assert whole.truncation_for(LogPosition(9, 18)) == 18


def test_a_log_with_only_a_snapshot_ends_in_its_epoch() -> None:
    shape = LogShape()
    shape.restart_at(LogPosition(7, 100))
    assert shape.end == LogPosition(7, 100)
    assert shape.compare(100, 7) is None
    assert shape.compare(100, 6) == NeedsSnapshot(LogPosition(7, 100))
    shape.append(8, 101)
    assert shape.end == LogPosition(8, 101)
    assert shape.position_at(100) == LogPosition(7, 100)


def test_dropping_the_start_of_the_log_changes_no_end_of_an_epoch(whole: LogShape) -> None:
    whole.snapshots.append(LogPosition(3, 12))
    whole.drop_prefix(LogPosition(3, 12))
    assert whole.end == LogPosition(4, 20)
    assert whole.start_offset == 12
    assert whole.compare(12, 3) is None
    whole.truncate(12)
    assert whole.end == LogPosition(3, 12)
