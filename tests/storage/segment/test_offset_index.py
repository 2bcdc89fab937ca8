import struct

from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.segment.offset_index import OffsetIndex

BASE = 1_000


def index_of(*pairs: tuple[int, int]) -> OffsetIndex:
    index = OffsetIndex(BASE)
    for offset, position in pairs:
        index.add(offset, position)
    return index


def test_an_entry_is_a_relative_offset_and_a_position_in_eight_bytes() -> None:
    assert OffsetIndex(BASE).add(1_007, 4_200) == struct.pack(">II", 7, 4_200)


def test_an_index_round_trips() -> None:
    index = index_of((1_003, 0), (1_009, 500), (1_020, 2**32 - 1))
    loaded = OffsetIndex(BASE, index.tail_bytes(0))
    assert loaded.tail_bytes(0) == index.tail_bytes(0)
    assert loaded.last_offset == 1_020
    assert loaded.last_position == 2**32 - 1


def test_only_unsaved_entries_are_written() -> None:
    index = index_of((1_003, 10), (1_009, 500))
    assert index.tail_bytes(1) == struct.pack(">II", 9, 500)


def test_a_partial_last_entry_is_ignored() -> None:
    content = index_of((1_003, 10)).tail_bytes(0) + b"\x00\x00\x00"
    assert len(OffsetIndex(BASE, content)) == 1


def test_truncation_forgets_the_entries_at_and_above_the_offset() -> None:
    index = index_of((1_003, 10), (1_009, 500))
    index.truncate_to(1_009)
    assert index.last_offset == 1_003
    index.truncate_to(0)
    assert len(index) == 0


def test_an_entry_behind_the_segment_or_out_of_order_is_implausible() -> None:
    assert index_of((1_003, 10)).is_plausible(11)
    assert not index_of((1_003, 10)).is_plausible(10)
    swapped = index_of((1_009, 500)).tail_bytes(0) + index_of((1_003, 10)).tail_bytes(0)
    assert not OffsetIndex(BASE, swapped).is_plausible(1_000)


@given(
    st.lists(st.integers(1, 50), min_size=0, max_size=40),
    st.integers(-5, 2_100),
    st.integers(0, 100_000),
)
def test_lookups_agree_with_a_search_from_the_start(steps: list[int], offset: int, position: int) -> None:
    pairs: list[tuple[int, int]] = []
    for step in steps:
        last_offset, last_position = pairs[-1] if pairs else (BASE - 1, -1)
        pairs.append((last_offset + step, last_position + 60 * step))
    index = index_of(*pairs)
    below = [p for o, p in pairs if o <= BASE + offset]
    assert index.position_before(BASE + offset) == (below[-1] if below else 0)
    fitting = [p for o, p in pairs if o < BASE + offset and p <= position]
    assert index.position_below(position, BASE + offset) == (fitting[-1] if fitting else 0)
