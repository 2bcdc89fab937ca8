from penstock.share.partition.in_flight import InFlight, InFlightBatch, Run
from penstock.share.state.values import RecordState

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED


def in_flight(*runs: tuple[int, int, RecordState]) -> InFlight:
    found = InFlight()
    for first, last, state in runs:
        found.add(InFlightBatch(Run(first, last, state, 1)))
    return found


def ends(in_flight: InFlight) -> list[list[tuple[int, int]]]:
    return [[(run.first, run.last) for run in batch.runs] for batch in in_flight.batches]


def test_batches_are_sorted_by_their_offsets() -> None:
    assert ends(in_flight((10, 19, AVAILABLE), (0, 4, AVAILABLE))) == [[(0, 4)], [(10, 19)]]


def test_the_floor_is_the_last_batch_that_begins_at_or_before_the_offset() -> None:
    found = in_flight((5, 9, AVAILABLE), (10, 19, AVAILABLE))
    assert found.floor(4) is None
    assert found.floor(9) is found.batches[0]
    assert found.floor(99) is found.batches[1]


def test_a_split_affects_only_runs_of_the_wanted_state() -> None:
    found = in_flight((0, 9, AVAILABLE), (10, 19, ACQUIRED), (20, 29, AVAILABLE))
    assert [(run.first, run.last) for run in found.split(5, 24, AVAILABLE)] == [(5, 9), (20, 24)]
    assert ends(found) == [[(0, 4), (5, 9)], [(10, 19)], [(20, 24), (25, 29)]]


def test_a_split_inside_one_run_leaves_three() -> None:
    found = in_flight((0, 9, AVAILABLE))
    assert [(run.first, run.last) for run in found.split(3, 5, AVAILABLE)] == [(3, 5)]
    assert ends(found) == [[(0, 2), (3, 5), (6, 9)]]


def test_equal_runs_are_joined_but_not_across_batches() -> None:
    found = in_flight((0, 9, AVAILABLE), (10, 19, AVAILABLE))
    for run in found.split(3, 5, AVAILABLE):
        run.state = ACQUIRED
    found.join(0, 19)
    assert ends(found) == [[(0, 2), (3, 5), (6, 9)], [(10, 19)]]
    for run in found.split(3, 5, ACQUIRED):
        run.unlock(AVAILABLE)
    found.join(0, 19)
    assert ends(found) == [[(0, 9)], [(10, 19)]]
