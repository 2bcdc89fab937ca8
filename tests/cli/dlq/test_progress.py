"""Which dead letters were replayed: positions and ranges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cli.dlq.progress import Progress, TooManyRanges


def test_letters_in_order_move_the_position() -> None:
    progress = Progress(5)
    progress.add(5, 5)
    progress.add(6, 9)
    assert (progress.position, progress.metadata()) == (10, "")


def test_letters_beyond_are_remembered_until_the_position_reaches_them() -> None:
    progress = Progress(0)
    progress.add(3, 4)
    progress.add(7, 7)
    assert (progress.position, progress.metadata()) == (0, "3-4,7")
    again = Progress(progress.position, progress.metadata())
    assert [offset for offset in range(9) if again.has(offset)] == [3, 4, 7]
    again.add(0, 2)
    assert (again.position, again.metadata()) == (5, "7")


@settings(deadline=None)
@given(st.integers(0, 20), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5))))
def test_progress_is_the_set_of_added_offsets(position: int, additions: list[tuple[int, int]]) -> None:
    progress, model = Progress(position), set(range(position))
    for begin, length in additions:
        progress.add(begin, begin + length)
        model.update(range(begin, begin + length + 1))
    assert {offset for offset in range(60) if progress.has(offset)} == model
    assert progress.position == next(offset for offset in range(60) if offset not in model)
    stored = Progress(progress.position, progress.metadata())
    assert {offset for offset in range(60) if stored.has(offset)} == model


def test_metadata_of_another_program_is_ignored() -> None:
    assert Progress(4, "committed by hand,7-x").metadata() == ""


def test_more_pieces_than_a_commit_holds_are_refused() -> None:
    progress = Progress(0)
    for offset in range(1, 4000, 2):
        progress.add(offset, offset)
    with pytest.raises(TooManyRanges):
        progress.metadata()
