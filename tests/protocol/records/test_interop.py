"""Batches of other clients are read here, and ours by them, for every codec."""

from typing import Any

import aiokafka.record.default_records as aiokafka_records
import kafka.record.default_records as kafka_python_records
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import crc_is_valid, parse_header
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.protocol.records.record import Record, decode_records
from penstock.protocol.records.rules import Rewrite, ValidationRules
from penstock.protocol.records.validation import validate_batch
from tests.protocol.records.strategies import NOW_MS, record_lists

OTHERS: dict[str, Any] = {
    "kafka-python": kafka_python_records,
    "aiokafka": aiokafka_records,
}


def build_with(other: Any, records: list[NewRecord], codec: Codec) -> bytes:
    builder = other.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=0,
        producer_id=4242,
        producer_epoch=3,
        base_sequence=17,
        batch_size=10_000_000,
    )
    for offset, record in enumerate(records):
        metadata = builder.append(
            offset,
            timestamp=record.timestamp,
            key=record.key,
            value=record.value,
            headers=list(record.headers),
        )
        assert metadata is not None
    return bytes(builder.build())


def expected_of(records: list[NewRecord], base_offset: int = 0) -> list[Record]:
    return [Record(base_offset + n, r.timestamp, r.key, r.value, r.headers) for n, r in enumerate(records)]


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=60)
@given(records=record_lists, codec=st.sampled_from(list(Codec)))
def test_batches_of_another_client_are_decoded_and_valid(
    name: str, records: list[NewRecord], codec: Codec
) -> None:
    batch = build_with(OTHERS[name], records, codec)
    assert crc_is_valid(batch, 0, len(batch))
    assert decode_records(batch) == expected_of(records)
    header = parse_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4242, 3, 17)
    assert header.max_timestamp == max(record.timestamp for record in records)
    validated = validate_batch(batch, ValidationRules(), NOW_MS)
    assert validated.rewrite is Rewrite.NONE


@pytest.mark.parametrize("name", OTHERS)
@settings(max_examples=60)
@given(records=record_lists, codec=st.sampled_from(list(Codec)))
def test_our_batches_are_read_by_another_client(name: str, records: list[NewRecord], codec: Codec) -> None:
    batch = build_batch(
        records, codec=codec, base_offset=1000, producer_id=7, producer_epoch=1, base_sequence=5
    )
    theirs = OTHERS[name].DefaultRecordBatch(batch)
    assert theirs.validate_crc()
    read = [
        Record(r.offset, r.timestamp, r.key, r.value, tuple((key, value) for key, value in r.headers))
        for r in theirs
    ]
    assert read == expected_of(records, 1000)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("codec", list(Codec))
def test_batches_of_several_compression_blocks_are_read_both_ways(name: str, codec: Codec) -> None:
    records = [NewRecord(b"key-%d" % n, b'{"value":%d}' % n * 20, (), NOW_MS) for n in range(1500)]
    batch = build_with(OTHERS[name], records, codec)
    assert parse_header(batch).codec is codec
    assert decode_records(batch) == expected_of(records)
    theirs = OTHERS[name].DefaultRecordBatch(build_batch(records, codec=codec))
    assert [r.value for r in theirs] == [record.value for record in records]


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_is_understood_by_another_client(is_commit: bool) -> None:
    marker = EndTxnMarker(is_commit=is_commit, coordinator_epoch=3)
    batch = build_end_txn_batch(marker, producer_id=5, producer_epoch=0, timestamp=NOW_MS)
    theirs = kafka_python_records.DefaultRecordBatch(batch)
    assert theirs.is_control_batch
    (record,) = list(theirs)
    assert (record.commit, record.abort) == (is_commit, not is_commit)
