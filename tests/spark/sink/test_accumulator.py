"""Rows become numbered batches: nothing lost, nothing out of order, nothing too large."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.client.metadata import TopicPartition
from penstock.client.partitioner import murmur2
from penstock.client.settings import ClientSettings
from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import parse_header
from penstock.protocol.records.record import Record, iter_records
from penstock.spark.sink.accumulator import Accumulator, SealedBatch
from penstock.spark.sink.columns import rows_of
from penstock.spark.sink.decision import Producer
from penstock.spark.sink.errors import RowError
from penstock.spark.sink.settings import SinkSettings

NOW_MS = 1_700_000_000_000


def accumulator(
    topic: str | None,
    counts: Mapping[str, int],
    *,
    batch_bytes: int = 500,
    codec: Codec = Codec.NONE,
    is_transactional: bool = True,
) -> Accumulator:
    client = ClientSettings.from_properties({"bootstrap.servers": "127.0.0.1:9092"})
    wanted = SinkSettings(
        client=client, topic=topic, is_exactly_once=True, codec=codec, batch_bytes=batch_bytes
    )
    return Accumulator(
        wanted,
        Producer(7, 3),
        is_transactional=is_transactional,
        partition_count=counts.__getitem__,
        now_ms=lambda: NOW_MS,
    )


def all_of(made: Accumulator, *batches: pa.RecordBatch, topic: str | None) -> list[SealedBatch]:
    sealed = [each for batch in batches for each in made.add(rows_of(batch, topic))]
    return [*sealed, *made.flush()]


def records_in(sealed: list[SealedBatch]) -> dict[TopicPartition, list[Record]]:
    found: dict[TopicPartition, list[Record]] = {}
    for batch in sealed:
        header = parse_header(memoryview(batch.data), 0)
        known = found.setdefault(batch.tp, [])
        assert header.base_sequence == len(known), "sequence numbers have no gap"
        assert (header.producer_id, header.producer_epoch) == (7, 3)
        known += iter_records(memoryview(batch.data))
    return found


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.binary(max_size=20) | st.none(), st.binary(max_size=200) | st.none()),
        max_size=60,
    ),
    st.integers(1, 20),
)
def test_every_row_is_in_the_batches_of_its_partition_in_order(
    rows: list[tuple[bytes | None, bytes | None]], size: int
) -> None:
    keys, values = (list(column) for column in (zip(*rows, strict=True) if rows else ((), ())))
    batch = pa.record_batch({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
    parts = [batch.slice(start, size) for start in range(0, len(rows), size)]
    found = records_in(all_of(accumulator("t", {"t": 3}), *parts, topic="t"))
    for partition in range(3):
        expected = [
            row for row in rows if row[0] is not None and (murmur2(row[0]) & 0x7FFFFFFF) % 3 == partition
        ]
        records = found.get(TopicPartition("t", partition), [])
        keyed = [(record.key, record.value) for record in records if record.key is not None]
        assert keyed == expected
    assert sum(map(len, found.values())) == len(rows)
    assert {record.timestamp for records in found.values() for record in records} <= {NOW_MS}


def test_batches_are_no_larger_than_asked_for_unless_one_record_is() -> None:
    values = [b"x" * 100] * 20 + [b"y" * 2000] + [b"z" * 100] * 3
    batch = pa.record_batch({"value": pa.array(values)})
    sealed = all_of(accumulator("t", {"t": 1}), batch, topic="t")
    assert sum(len(each.data) > 700 for each in sealed) == 1
    assert [record.value for record in records_in(sealed)[TopicPartition("t", 0)]] == values


def test_rows_go_to_the_topic_of_their_column_and_to_the_partition_they_ask_for() -> None:
    columns: dict[str, pa.Array[Any]] = {
        "value": pa.array(["a1", "b1", "a2", "b2"]),
        "topic": pa.array(["a", "b", "a", "b"]),
        "partition": pa.array([1, None, 0, 4], pa.int32()),
        "key": pa.array([None, None, None, "k"], pa.string()),
    }
    batch = pa.record_batch(columns)
    found = records_in(all_of(accumulator(None, {"a": 2, "b": 5}), batch, topic=None))
    texts = {tp: [record.value for record in records] for tp, records in found.items()}
    assert texts == {
        TopicPartition("a", 1): [b"a1"],
        TopicPartition("a", 0): [b"a2"],
        TopicPartition("b", 0): [b"b1"],
        TopicPartition("b", 4): [b"b2"],
    }


def test_a_partition_that_does_not_exist_is_refused() -> None:
    columns: dict[str, pa.Array[Any]] = {"value": pa.array(["1"]), "partition": pa.array([2], pa.int32())}
    batch = pa.record_batch(columns)
    with pytest.raises(RowError, match="partition 2 of topic 't', which has partitions 0 to 1"):
        all_of(accumulator("t", {"t": 2}), batch, topic="t")


@pytest.mark.parametrize("codec", list(Codec))
def test_batches_are_compressed_and_marked_as_asked(codec: Codec) -> None:
    batch = pa.record_batch({"value": pa.array(["same"] * 10)})
    made = accumulator("t", {"t": 1}, codec=codec, is_transactional=codec is Codec.GZIP)
    (sealed,) = all_of(made, batch, topic="t")
    header = parse_header(memoryview(sealed.data), 0)
    assert header.codec is codec
    assert header.is_transactional is (codec is Codec.GZIP)
    assert len(records_in([sealed])[sealed.tp]) == 10
