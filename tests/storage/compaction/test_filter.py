from collections.abc import Sequence

import pytest

from penstock.protocol.compression import Codec
from penstock.protocol.records.batch import Buffer, crc_is_valid, parse_header
from penstock.protocol.records.builder import NewRecord, build_batch
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import Record, decode_records
from penstock.storage.compaction.filter import BatchFilter, LastRecord, fill_keys, split_records
from penstock.storage.compaction.keys import KeyOffsets
from penstock.storage.compaction.transactions import CleanedTransactions
from penstock.storage.segment.transaction_index import AbortedTransaction

NOW_MS = 1_000_000
RETENTION_MS = 1_000
PRODUCER = 7


def record(key: str | None, value: str | None, timestamp: int = 500) -> NewRecord:
    return NewRecord(
        None if key is None else key.encode(),
        None if value is None else value.encode(),
        (("h", b"1"),),
        timestamp,
    )


def new_filter(
    *batches: bytes,
    aborted: Sequence[AbortedTransaction] = (),
    transactions: CleanedTransactions | None = None,
    last_records: dict[int, LastRecord] | None = None,
    end_offset: int = 1000,
    now_ms: int = NOW_MS,
) -> BatchFilter:
    """A filter that knows the keys of `batches`."""
    keys = KeyOffsets(1 << 20)
    for batch in batches:
        header = parse_header(batch)
        fill_keys(keys, batch, 0, header, 0)
        keys.latest_offset = header.last_offset
    return BatchFilter(
        keys=keys,
        transactions=transactions or CleanedTransactions(aborted),
        last_records=last_records or {},
        end_offset=end_offset,
        now_ms=now_ms,
        delete_retention_ms=RETENTION_MS,
    )


def apply(batch_filter: BatchFilter, batch: Buffer) -> bytes | None:
    kept = batch_filter.apply(batch, 0, parse_header(batch))
    if kept is None:
        return None
    assert crc_is_valid(kept, 0, len(kept))
    return bytes(kept)


def content(batch: bytes | None) -> list[tuple[int, bytes | None, bytes | None]]:
    assert batch is not None
    return [(r.offset, r.key, r.value) for r in decode_records(batch)]


def marker(offset: int, *, is_commit: bool, producer_id: int = PRODUCER) -> bytes:
    return build_end_txn_batch(
        EndTxnMarker(is_commit=is_commit, coordinator_epoch=0),
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=600,
        base_offset=offset,
    )


def transactional(offset: int, key: str) -> bytes:
    return build_batch(
        [record(key, "x")],
        base_offset=offset,
        producer_id=PRODUCER,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def test_only_the_newest_record_of_a_key_stays_at_its_offset() -> None:
    batch = build_batch([record("a", "1"), record("b", "1"), record("a", "2")], base_offset=10)
    kept = apply(new_filter(batch), batch)
    assert content(kept) == [(11, b"b", b"1"), (12, b"a", b"2")]


def test_a_batch_that_loses_records_keeps_base_offset_last_offset_sequences_and_epoch() -> None:
    batch = build_batch(
        [record("a", "1"), record("b", "1"), record("b", "2")],
        base_offset=10,
        producer_id=PRODUCER,
        producer_epoch=3,
        base_sequence=40,
        leader_epoch=9,
    )
    newer = build_batch([record("b", "3")], base_offset=13)
    before, after = parse_header(batch), parse_header(apply(new_filter(batch, newer), batch) or b"")
    assert (after.base_offset, after.last_offset, after.record_count) == (10, 12, 1)
    assert (after.producer_id, after.producer_epoch, after.base_sequence) == (PRODUCER, 3, 40)
    assert (after.last_sequence, after.leader_epoch) == (before.last_sequence, 9)


def test_a_batch_that_loses_nothing_is_returned_unchanged() -> None:
    batch = build_batch([record("a", "1"), record("b", "1")], codec=Codec.ZSTD)
    assert apply(new_filter(batch), batch) == batch


def test_a_batch_that_loses_all_its_records_is_removed() -> None:
    old, new = build_batch([record("a", "1")]), build_batch([record("a", "2")], base_offset=1)
    assert apply(new_filter(old, new), old) is None


@pytest.mark.parametrize("codec", list(Codec))
def test_the_codec_headers_and_timestamps_are_kept(codec: Codec) -> None:
    batch = build_batch(
        [record("a", "old", 900), record("b", "1" * 300, 700), record("a", "new", 100)], codec=codec
    )
    kept = apply(new_filter(batch), batch)
    assert kept is not None
    header = parse_header(kept)
    assert header.codec is codec
    assert header.max_timestamp == 700
    assert decode_records(kept) == [
        Record(1, 700, b"b", b"1" * 300, (("h", b"1"),)),
        Record(2, 100, b"a", b"new", (("h", b"1"),)),
    ]


def test_log_append_time_stays_the_time_of_the_batch() -> None:
    batch = build_batch([record("a", "1"), record("a", None)], append_timestamp=12_345)
    kept = apply(new_filter(batch), batch)
    assert [r.timestamp for r in decode_records(kept or b"")] == [12_345]
    assert parse_header(kept or b"").max_timestamp == 12_345


def test_a_record_without_a_key_is_dropped_and_counted() -> None:
    batch = build_batch([record(None, "1"), record("a", "1")])
    batch_filter = new_filter(batch)
    assert content(apply(batch_filter, batch)) == [(1, b"a", b"1")]
    assert batch_filter.keyless_count == 1


def test_the_first_pass_gives_a_tombstone_a_delete_horizon_and_keeps_its_timestamp() -> None:
    batch = build_batch([record("a", None, 500), record("b", "1", 510)])
    kept = apply(new_filter(batch), batch) or b""
    assert parse_header(kept).delete_horizon_ms == NOW_MS + RETENTION_MS
    assert [(r.key, r.timestamp) for r in decode_records(kept)] == [(b"a", 500), (b"b", 510)]
    assert parse_header(kept).max_timestamp == 510


def test_a_tombstone_is_kept_before_its_delete_horizon_and_removed_at_it() -> None:
    batch = build_batch([record("a", None), record("b", "1")])
    marked = apply(new_filter(batch), batch) or b""
    early = new_filter(marked, now_ms=NOW_MS + RETENTION_MS - 1)
    assert apply(early, marked) == marked
    late = new_filter(marked, now_ms=NOW_MS + RETENTION_MS)
    kept = apply(late, marked) or b""
    assert content(kept) == [(1, b"b", b"1")]
    assert [r.timestamp for r in decode_records(kept)] == [500]


def test_a_tombstone_removes_the_older_value_of_its_key() -> None:
    value, tombstone = build_batch([record("a", "1")]), build_batch([record("a", None)], base_offset=1)
    assert apply(new_filter(value, tombstone), value) is None


def test_records_beyond_the_key_map_are_left_alone() -> None:
    known = build_batch([record("a", "1")])
    beyond = build_batch([record(None, "1"), record("a", None), record("a", "2")], base_offset=1)
    assert apply(new_filter(known), beyond) == beyond


def test_the_last_batch_of_a_live_producer_stays_as_an_empty_header() -> None:
    old = build_batch(
        [record("a", "1")], producer_id=PRODUCER, producer_epoch=2, base_sequence=5, codec=Codec.GZIP
    )
    new = build_batch([record("a", "2")], base_offset=1)
    kept = apply(new_filter(old, new, last_records={PRODUCER: LastRecord(0, 2)}), old) or b""
    header = parse_header(kept)
    assert (header.record_count, header.base_offset, header.last_offset) == (0, 0, 0)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (PRODUCER, 2, 5)
    assert (header.max_timestamp, header.is_compressed, header.base_timestamp) == (500, False, -1)
    assert decode_records(kept) == []
    again = new_filter(new, last_records={PRODUCER: LastRecord(0, 2)})
    assert apply(again, kept) == kept
    assert apply(new_filter(new, last_records={PRODUCER: LastRecord(9, 2)}), kept) is None


def test_the_batch_before_the_first_uncleanable_offset_stays_as_an_empty_header() -> None:
    old, new = build_batch([record("a", "1")], base_offset=4), build_batch([record("a", "2")], base_offset=5)
    kept = apply(new_filter(old, new, end_offset=5), old) or b""
    assert (parse_header(kept).record_count, parse_header(kept).last_offset) == (0, 4)


def test_a_damaged_batch_is_refused_rather_than_given_a_new_checksum() -> None:
    batch = bytearray(build_batch([record("a", "1"), record("a", "2")]))
    batch[-3] ^= 1
    with pytest.raises(CorruptRecords):
        apply(new_filter(bytes(build_batch([record("a", "1")]))), batch)


def test_aborted_records_are_removed_and_their_marker_is_kept_for_one_more_pass() -> None:
    data, end = transactional(10, "a"), marker(11, is_commit=False)
    aborted = AbortedTransaction(PRODUCER, 10, 11, 12)
    transactions = CleanedTransactions([aborted])
    batch_filter = new_filter(transactions=transactions)
    assert apply(batch_filter, data) is None
    assert apply(batch_filter, end) == end
    assert transactions.kept == [aborted]


def test_a_marker_without_records_is_removed_at_its_delete_horizon() -> None:
    end = marker(11, is_commit=False)
    marked = apply(new_filter(), end) or b""
    assert parse_header(marked).delete_horizon_ms == NOW_MS + RETENTION_MS
    assert parse_header(marked).is_control
    assert decode_records(marked)[0].timestamp == 600
    assert apply(new_filter(now_ms=NOW_MS + RETENTION_MS - 1), marked) == marked
    assert apply(new_filter(now_ms=NOW_MS + RETENTION_MS), marked) is None


def test_a_commit_marker_is_kept_while_records_of_its_transaction_precede_it() -> None:
    data, end = transactional(10, "a"), marker(11, is_commit=True)
    batch_filter = new_filter(data, end)
    assert apply(batch_filter, data) == data
    assert apply(batch_filter, end) == end


def test_an_abort_marker_missing_from_the_index_is_kept_after_records_of_its_producer() -> None:
    data, end = transactional(10, "a"), marker(11, is_commit=False)
    batch_filter = new_filter(data)
    assert apply(batch_filter, data) == data
    assert apply(batch_filter, end) == end


def test_the_last_marker_of_a_producer_keeps_its_epoch_in_an_empty_header() -> None:
    end = marker(11, is_commit=True)
    marked = apply(new_filter(), end) or b""
    late = new_filter(now_ms=NOW_MS + RETENTION_MS, last_records={PRODUCER: LastRecord(-1, 0)})
    header = parse_header(apply(late, marked) or b"")
    assert (header.record_count, header.is_control, header.producer_epoch) == (0, True, 0)


@pytest.mark.parametrize("section", [b"\x02\x00", b"\x00", b"\x0c\x00\x00\x00\x02a\x01\x00\xff", b"\x80"])
def test_a_malformed_records_section_is_corrupt(section: bytes) -> None:
    with pytest.raises(CorruptRecords):
        list(split_records(section, 1))
