"""Records and batches for Hypothesis."""

from hypothesis import strategies as st

from penstock.protocol.records.builder import NewRecord

NOW_MS = 1_700_000_000_000

timestamps = st.integers(NOW_MS - 100, NOW_MS + 100) | st.integers(0, NOW_MS + 2_000_000)
fields = st.none() | st.binary(max_size=100) | st.binary(min_size=120, max_size=140)
headers = st.lists(st.tuples(st.text(max_size=10), st.none() | st.binary(max_size=10)), max_size=3).map(tuple)

new_records = st.builds(NewRecord, key=fields, value=fields, headers=headers, timestamp=timestamps)
# Records of one shape, as most producers send them, take the other path through the walk.
alike_records = st.builds(
    NewRecord,
    key=st.none() | st.just(b"key-key-key"),
    value=st.binary(min_size=100, max_size=100),
    timestamp=st.integers(NOW_MS, NOW_MS + 70),
)
record_lists = st.lists(new_records, min_size=1, max_size=20) | st.builds(
    lambda record, count, rest: [record] * count + rest,
    alike_records,
    st.integers(1, 150),
    st.lists(alike_records, max_size=4),
)
