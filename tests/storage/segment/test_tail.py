from hypothesis import given
from hypothesis import strategies as st

from penstock.protocol.records.batch import parse_header
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.storage.segment.tail import ENTRIES_MAX, Tail
from penstock.storage.storable_batch import StorableBatch


def batch_of(last_offset: int, size_bytes: int) -> StorableBatch:
    header = parse_header(build_batch([NewRecord(value=b"v")]))
    return StorableBatch(b"", header, last_offset, last_offset, -1, size_bytes)


def tail_of(*batches: tuple[int, int]) -> Tail:
    """A tail that begins at offset 100, byte 1000, with (record count, size) batches."""
    tail = Tail(100, 1_000)
    offset, position = 100, 1_000
    for count, size in batches:
        offset += count
        position += size
        tail.add([batch_of(offset - 1, size)])
    return tail


def test_the_batch_that_contains_the_offset_comes_first() -> None:
    tail = tail_of((10, 100), (10, 100), (10, 100))
    assert tail.span(115, 130, 1_000, at_least_one=True) == (1_100, 1_300, 130)


def test_only_batches_that_end_below_the_limit_are_returned() -> None:
    tail = tail_of((10, 100), (10, 100), (10, 100))
    assert tail.span(100, 120, 1_000, at_least_one=True) == (1_000, 1_200, 120)
    assert tail.span(100, 129, 1_000, at_least_one=True) == (1_000, 1_200, 120)
    assert tail.span(120, 129, 1_000, at_least_one=True) is None


def test_no_more_batches_than_fit_are_returned() -> None:
    tail = tail_of((10, 100), (10, 100), (10, 100))
    assert tail.span(100, 130, 299, at_least_one=True) == (1_000, 1_200, 120)


def test_a_first_batch_that_is_too_large_is_returned_only_if_at_least_one_is_wanted() -> None:
    tail = tail_of((10, 100))
    assert tail.span(100, 110, 99, at_least_one=True) == (1_000, 1_100, 110)
    assert tail.span(100, 110, 99, at_least_one=False) is None


def test_offsets_before_the_tail_are_not_covered() -> None:
    tail = tail_of((10, 100))
    assert not tail.covers(99)
    assert tail.covers(100)


def test_the_oldest_batches_are_evicted() -> None:
    tail = tail_of(*[(1, 10)] * (ENTRIES_MAX + 10))
    assert not tail.covers(100)
    last = 100 + ENTRIES_MAX + 9
    end = 1_000 + 10 * (ENTRIES_MAX + 10)
    assert tail.span(last, last + 1, 10, at_least_one=True) == (end - 10, end, last + 1)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(61, 300)), min_size=1, max_size=30),
    st.integers(100, 260),
    st.integers(100, 260),
    st.integers(0, 2_000),
    st.booleans(),
)
def test_a_span_has_the_same_batches_as_a_scan(
    batches: list[tuple[int, int]], offset: int, limit: int, size_max: int, at_least_one: bool
) -> None:
    base, position, expected = 100, 1_000, None
    for count, size in batches:
        next_offset = base + count
        if next_offset > offset and next_offset <= limit:
            begin = position if expected is None else expected[0]
            first_must = expected is None and at_least_one
            if position + size - begin > size_max and not first_must:
                break
            expected = (begin, position + size, next_offset)
        elif next_offset > limit:
            break
        base, position = next_offset, position + size
    assert tail_of(*batches).span(offset, limit, size_max, at_least_one) == expected
