"""The fast encoder makes what the plain one makes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.protocol.compression import Codec
from penstock.protocol.records.builder import BatchBuilder
from penstock.spark.sink.decision import Producer
from penstock.spark.sink.records import BatchRecords

field = st.none() | st.binary(max_size=100) | st.just(b"x" * 9000)
header = st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5))
row = st.tuples(field, field, st.lists(header, max_size=2).map(tuple))


@settings(deadline=None)
@given(
    st.lists(row, min_size=1, max_size=30), st.integers(0, 1000), st.sampled_from([Codec.NONE, Codec.ZSTD])
)
def test_a_batch_is_byte_for_byte_what_the_builder_makes(
    rows: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]],
    later_ms: int,
    codec: Codec,
) -> None:
    first, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    fast, plain = BatchRecords(5000 if first else 5000 + later_ms), BatchBuilder()
    for part, timestamp in ((first, 5000), (rest, 5000 + later_ms)):
        if not part:
            continue
        keys, values, headers = (list(column) for column in zip(*part, strict=True))
        taken = fast.take(
            range(len(part)), 0, (keys, values, headers), timestamp_ms=timestamp, batch_bytes=1 << 30
        )
        assert taken == len(part)
        for key, value, each in part:
            plain.append(key, value, each, timestamp=timestamp)
    assert fast.seal(
        codec=codec, level=None, producer=Producer(7, 3), base_sequence=11, is_transactional=True
    ) == plain.build(codec=codec, producer_id=7, producer_epoch=3, base_sequence=11, is_transactional=True)


def test_rows_that_do_not_fit_are_left_for_the_next_batch_but_one_always_fits() -> None:
    columns = ([None] * 4, [b"x" * 300] * 4, None)
    records = BatchRecords(1)
    assert records.take(range(4), 1, columns, timestamp_ms=1, batch_bytes=700) == 3
    assert len(records) == 2
    assert BatchRecords(1).take(range(4), 3, columns, timestamp_ms=1, batch_bytes=10) == 4
