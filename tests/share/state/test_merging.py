"""State batches, laid over each other, against a dict with the state of every single offset."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.share.state.merging import merge, truncate_before
from penstock.share.state.values import RecordState, StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def combined(*batches: StateBatch) -> list[StateBatch]:
    kept: list[StateBatch] = []
    merge(kept, batches)
    return kept


def test_the_higher_delivery_count_counts_wherever_batches_overlap() -> None:
    assert combined(StateBatch(0, 9, ACKNOWLEDGED, 1), StateBatch(5, 14, AVAILABLE, 2)) == [
        StateBatch(0, 4, ACKNOWLEDGED, 1),
        StateBatch(5, 14, AVAILABLE, 2),
    ]


def test_of_the_same_delivery_count_the_higher_state_counts() -> None:
    assert combined(StateBatch(3, 5, ACKNOWLEDGED, 1), StateBatch(0, 9, AVAILABLE, 1)) == [
        StateBatch(0, 2, AVAILABLE, 1),
        StateBatch(3, 5, ACKNOWLEDGED, 1),
        StateBatch(6, 9, AVAILABLE, 1),
    ]


def test_equal_adjacent_batches_are_merged() -> None:
    assert combined(
        StateBatch(0, 4, ACKNOWLEDGED, 1),
        StateBatch(6, 9, ACKNOWLEDGED, 1),
        StateBatch(5, 5, ACKNOWLEDGED, 1),
    ) == [StateBatch(0, 9, ACKNOWLEDGED, 1)]


def test_batches_before_the_start_offset_are_removed() -> None:
    kept = combined(
        StateBatch(0, 4, ACKNOWLEDGED, 1), StateBatch(5, 9, AVAILABLE, 2), StateBatch(12, 13, ARCHIVED, 5)
    )

    truncate_before(kept, 7)

    assert kept == [StateBatch(7, 9, AVAILABLE, 2), StateBatch(12, 13, ARCHIVED, 5)]


_offsets = st.integers(0, 30)
_batches = st.builds(
    lambda a, b, state, count: StateBatch(min(a, b), max(a, b), state, count),
    _offsets,
    _offsets,
    st.sampled_from([AVAILABLE, ACKNOWLEDGED, ARCHIVED]),
    st.integers(1, 3),
)
_steps = st.lists(st.one_of(st.lists(_batches, max_size=4), _offsets), max_size=12)


@given(_steps)
def test_every_offset_has_the_highest_of_its_overlapping_states(steps: list[list[StateBatch] | int]) -> None:
    kept: list[StateBatch] = []
    single: dict[int, tuple[int, int]] = {}

    for step in steps:
        if isinstance(step, int):
            truncate_before(kept, step)
            single = {offset: known for offset, known in single.items() if offset >= step}
            continue
        merge(kept, step)
        for batch in step:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                new = (batch.delivery_count, int(batch.state))
                single[offset] = max(new, single.get(offset, new))

    assert {
        offset: (batch.delivery_count, int(batch.state))
        for batch in kept
        for offset in range(batch.first_offset, batch.last_offset + 1)
    } == single
    assert all(before.last_offset < after.first_offset for before, after in pairwise(kept))
    assert not any(
        before.last_offset + 1 == after.first_offset and before[2:] == after[2:]
        for before, after in pairwise(kept)
    ), "neighbours differ"
