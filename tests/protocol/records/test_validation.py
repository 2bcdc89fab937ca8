import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config.topic import TopicConfig
from penstock.protocol.compression import Codec
from penstock.protocol.errors import ErrorCode
from penstock.protocol.records.batch import (
    CRC_POSITION,
    HEADER,
    HEADER_SIZE,
    BatchHeader,
    compute_crc,
    crc_is_valid,
    iter_batches,
    parse_header,
)
from penstock.protocol.records.builder import NewRecord, build_batch, encode_record
from penstock.protocol.records.control import EndTxnMarker, build_end_txn_batch
from penstock.protocol.records.errors import CorruptRecords
from penstock.protocol.records.record import decode_records
from penstock.protocol.records.rules import (
    InvalidBatch,
    Rewrite,
    ValidatedBatch,
    ValidationRules,
    rules_for,
)
from penstock.protocol.records.validation import (
    RECORD_ERRORS_MAX,
    rewrite_batch,
    validate_batch,
)
from tests.protocol.records.strategies import NOW_MS, record_lists

RULES = ValidationRules()
HEADER_FIELDS = BatchHeader.__struct_fields__


def records_of(count: int) -> list[NewRecord]:
    return [NewRecord(b"k", b"value", (), NOW_MS + n) for n in range(count)]


def patched(batch: bytes, **fields: int) -> bytes:
    """The batch with some header fields replaced and the CRC made to fit."""
    values = dict(zip(HEADER_FIELDS, HEADER.unpack_from(batch), strict=True)) | fields
    buffer = bytearray(batch)
    HEADER.pack_into(buffer, 0, *values.values())
    return with_crc(buffer)


def with_crc(buffer: bytearray) -> bytes:
    buffer[CRC_POSITION : CRC_POSITION + 4] = compute_crc(buffer, 0, len(buffer)).to_bytes(4, "big")
    return bytes(buffer)


def refusal(batch: bytes, rules: ValidationRules = RULES, *, is_from_client: bool = True) -> InvalidBatch:
    with pytest.raises(InvalidBatch) as caught:
        validate_batch(batch, rules, NOW_MS, is_from_client=is_from_client)
    return caught.value


@given(records=record_lists, codec=st.sampled_from(list(Codec)))
def test_batches_of_the_builder_are_valid_and_need_no_rewrite(records: list[NewRecord], codec: Codec) -> None:
    batch = build_batch(records, codec=codec)
    validated = validate_batch(memoryview(batch), RULES, NOW_MS)
    assert validated.header == parse_header(batch)
    assert validated.max_timestamp == max(record.timestamp for record in records)
    assert validated.rewrite is Rewrite.NONE
    assert rewrite_batch(batch, validated, RULES) is batch


GOOD = build_batch(records_of(3))


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:16], ErrorCode.INVALID_RECORD),
        (GOOD[:40], ErrorCode.INVALID_RECORD),
        (patched(GOOD, batch_length=28)[:40], ErrorCode.CORRUPT_MESSAGE),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (GOOD + b"x", ErrorCode.INVALID_RECORD),
        (patched(GOOD, magic=0), ErrorCode.INVALID_RECORD),
        (patched(GOOD, magic=1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, magic=3), ErrorCode.CORRUPT_MESSAGE),
        (patched(GOOD, magic=-1), ErrorCode.CORRUPT_MESSAGE),
        (patched(GOOD, batch_length=48), ErrorCode.CORRUPT_MESSAGE),
        (patched(GOOD, batch_length=-13), ErrorCode.CORRUPT_MESSAGE),
        (patched(GOOD, base_offset=1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, last_offset_delta=3), ErrorCode.INVALID_RECORD),
        (patched(GOOD, record_count=0), ErrorCode.INVALID_RECORD),
        (patched(GOOD, record_count=-1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, record_count=4, last_offset_delta=3), ErrorCode.INVALID_RECORD),
        (patched(GOOD, record_count=2, last_offset_delta=1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, record_count=2**31 - 1, last_offset_delta=2**31 - 2), ErrorCode.INVALID_RECORD),
        (patched(GOOD, attributes=0x20), ErrorCode.INVALID_RECORD),
        (patched(GOOD, attributes=0x10), ErrorCode.INVALID_RECORD),
        (patched(GOOD, producer_id=5, base_sequence=-1), ErrorCode.INVALID_RECORD),
        (patched(GOOD, attributes=int(Codec.GZIP)), ErrorCode.INVALID_RECORD),
        (patched(GOOD, attributes=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (patched(GOOD, attributes=7), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (GOOD[:-1] + b"\x01", ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_a_batch_that_kafka_refuses_is_refused_with_its_code(batch: bytes, code: ErrorCode) -> None:
    assert refusal(batch).code is code


def test_the_size_limit_is_inclusive_and_comes_before_the_crc() -> None:
    at_limit = ValidationRules(size_bytes_max=len(GOOD))
    assert validate_batch(GOOD, at_limit, NOW_MS).rewrite is Rewrite.NONE
    below = ValidationRules(size_bytes_max=len(GOOD) - 1)
    assert refusal(GOOD[:-1] + b"\x01", below).code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    assert refusal(GOOD, ValidationRules(segment_bytes_max=50)).code is ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("codec", list(Codec))
def test_offset_deltas_that_do_not_count_up_are_refused(codec: Codec) -> None:
    section = b"".join(encode_record(0, delta, b"k", b"v") for delta in (0, 2, 1))
    plain = patched(with_section(GOOD, section), record_count=3)
    validated = ValidatedBatch(parse_header(plain), NOW_MS, Rewrite.RECOMPRESS, section)
    batch = (
        plain if codec is Codec.NONE else bytes(rewrite_batch(plain, validated, ValidationRules(codec=codec)))
    )
    assert refusal(batch).code is ErrorCode.INVALID_RECORD


def with_section(batch: bytes, section: bytes) -> bytes:
    return patched(batch[:HEADER_SIZE] + section, batch_length=HEADER_SIZE - 12 + len(section))


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_expands_beyond_the_bound_is_too_large(codec: Codec) -> None:
    batch = build_batch([NewRecord(b"k", bytes(100_000), (), NOW_MS)], codec=codec)
    assert validate_batch(batch, RULES, NOW_MS).rewrite is Rewrite.NONE
    assert refusal(batch, ValidationRules(decompressed_bytes_max=50_000)).code is ErrorCode.MESSAGE_TOO_LARGE


# Keys.


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_compacted_topic_refuses_records_without_key_and_names_them(codec: Codec) -> None:
    keys = [b"a", None, b"", None]
    batch = build_batch([NewRecord(key, b"v", (), NOW_MS) for key in keys], codec=codec)
    error = refusal(batch, ValidationRules(is_compacted=True))
    assert error.code is ErrorCode.INVALID_RECORD
    assert [e.batch_index for e in error.record_errors] == [1, 3]
    assert all("key" in e.message for e in error.record_errors)
    assert validate_batch(batch, RULES, NOW_MS).rewrite is Rewrite.NONE


def test_the_number_of_reported_records_is_bounded() -> None:
    batch = build_batch([NewRecord(None, b"v", (), NOW_MS)] * (RECORD_ERRORS_MAX + 5))
    assert len(refusal(batch, ValidationRules(is_compacted=True)).record_errors) == RECORD_ERRORS_MAX


# Timestamps.


def test_timestamps_too_far_ahead_are_refused_and_named() -> None:
    stamps = [NOW_MS, NOW_MS + 3_600_001, NOW_MS + 3_600_000]
    error = refusal(build_batch([NewRecord(b"k", b"v", (), stamp) for stamp in stamps]))
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [e.batch_index for e in error.record_errors] == [1]


def test_timestamps_too_far_back_are_refused_but_no_timestamp_is_fine() -> None:
    rules = ValidationRules(timestamp_before_max_ms=1000)
    stamps = [NOW_MS - 1000, NOW_MS - 1001, -1]
    batch = build_batch([NewRecord(b"k", b"v", (), stamp) for stamp in stamps])
    assert [e.batch_index for e in refusal(batch, rules).record_errors] == [1]
    unstamped = build_batch([NewRecord(b"k", b"v")] * 3)
    assert validate_batch(unstamped, rules, NOW_MS).max_timestamp == -1


def test_a_missing_key_and_a_bad_timestamp_together_are_an_invalid_timestamp() -> None:
    batch = build_batch([NewRecord(None, b"v", (), NOW_MS), NewRecord(b"k", b"v", (), NOW_MS + 10**10)])
    error = refusal(batch, ValidationRules(is_compacted=True))
    assert error.code is ErrorCode.INVALID_TIMESTAMP
    assert [e.batch_index for e in error.record_errors] == [0, 1]


@pytest.mark.parametrize(
    ("base", "delta"), [(2**63 - 1, 2**63 - 1), (-(2**63), -(2**63)), (NOW_MS, 2**63 - 1)]
)
def test_a_timestamp_that_overflows_is_refused_whatever_the_topic_allows(base: int, delta: int) -> None:
    section = encode_record(0, 0, b"k", b"v") + encode_record(delta, 1, b"k", b"v")
    batch = patched(with_section(GOOD, section), base_timestamp=base, record_count=2, last_offset_delta=1)
    lenient = ValidationRules(timestamp_before_max_ms=2**63 - 1, timestamp_after_max_ms=2**63 - 1)
    assert refusal(batch, lenient).code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("claimed", [0, -1, NOW_MS + 10**12])
def test_a_wrong_max_timestamp_is_corrected(codec: Codec, claimed: int) -> None:
    batch = bytearray(patched(build_batch(records_of(3), codec=codec), max_timestamp=claimed))
    validated = validate_batch(batch, RULES, NOW_MS)
    assert validated.rewrite is Rewrite.TIMESTAMPS
    assert validated.max_timestamp == NOW_MS + 2
    assert rewrite_batch(batch, validated, RULES) is batch
    assert bytes(batch) == build_batch(records_of(3), codec=codec)


def test_a_read_only_batch_is_copied_to_be_corrected() -> None:
    batch = patched(GOOD, max_timestamp=0)
    stored = rewrite_batch(memoryview(batch), validate_batch(batch, RULES, NOW_MS), RULES)
    assert bytes(stored) == GOOD
    assert parse_header(batch).max_timestamp == 0


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_log_append_time_replaces_whatever_time_the_records_claim(codec: Codec) -> None:
    rules = ValidationRules(is_log_append_time=True)
    batch = bytearray(
        build_batch([NewRecord(b"k", b"v", (), 10**17), NewRecord(b"k", b"v", (), 5)], codec=codec)
    )
    validated = validate_batch(batch, rules, NOW_MS)
    stored = rewrite_batch(batch, validated, rules)
    assert crc_is_valid(stored, 0, len(stored))
    assert parse_header(stored).is_log_append_time
    assert [record.timestamp for record in decode_records(stored)] == [NOW_MS, NOW_MS]


def test_a_producer_may_not_claim_log_append_time_where_the_broker_sets_it() -> None:
    batch = build_batch(records_of(2), append_timestamp=NOW_MS)
    assert refusal(batch, ValidationRules(is_log_append_time=True)).code is ErrorCode.INVALID_TIMESTAMP


def test_log_append_time_claimed_on_a_create_time_topic_is_cleared() -> None:
    batch = bytearray(build_batch(records_of(2), append_timestamp=NOW_MS))
    stored = rewrite_batch(batch, validate_batch(batch, RULES, NOW_MS), RULES)
    assert not parse_header(stored).is_log_append_time
    assert parse_header(stored).max_timestamp == NOW_MS
    unstamped = build_batch(records_of(2), append_timestamp=-1)
    assert refusal(unstamped).code is ErrorCode.INVALID_TIMESTAMP
    late = build_batch(records_of(2), append_timestamp=NOW_MS + 10**9)
    assert refusal(late).code is ErrorCode.INVALID_TIMESTAMP


# Another codec.


@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.parametrize("source", list(Codec))
def test_the_topics_codec_replaces_the_producers_and_nothing_else(source: Codec, target: Codec) -> None:
    rules = ValidationRules(codec=target)
    batch = build_batch(
        records_of(50),
        codec=source,
        producer_id=99,
        producer_epoch=2,
        base_sequence=2**31 - 5,
        is_transactional=True,
        leader_epoch=3,
    )
    validated = validate_batch(batch, rules, NOW_MS)
    assert validated.rewrite is (Rewrite.NONE if source is target else Rewrite.RECOMPRESS)
    stored = rewrite_batch(batch, validated, rules)
    before, after = parse_header(batch), parse_header(stored)
    assert after.codec is target
    assert crc_is_valid(stored, 0, len(stored))
    assert after.size_bytes == len(stored)
    assert decode_records(stored) == decode_records(batch)
    for field in HEADER_FIELDS:
        if field not in ("batch_length", "crc", "attributes"):
            assert getattr(after, field) == getattr(before, field)
    assert after.attributes & ~7 == before.attributes & ~7


def test_recompression_and_log_append_time_are_combined() -> None:
    rules = ValidationRules(codec=Codec.GZIP, is_log_append_time=True)
    stored = rewrite_batch(GOOD, validate_batch(GOOD, rules, NOW_MS), rules)
    assert {record.timestamp for record in decode_records(stored)} == {NOW_MS}
    assert parse_header(stored).codec is Codec.GZIP


def test_a_batch_that_outgrows_the_limit_in_the_topics_codec_is_too_large() -> None:
    batch = build_batch([NewRecord(b"k", bytes(50_000), (), NOW_MS)], codec=Codec.ZSTD)
    for rules, code in (
        (ValidationRules(codec=Codec.NONE, size_bytes_max=40_000), ErrorCode.MESSAGE_TOO_LARGE),
        (ValidationRules(codec=Codec.NONE, segment_bytes_max=40_000), ErrorCode.RECORD_LIST_TOO_LARGE),
    ):
        with pytest.raises(InvalidBatch) as caught:
            rewrite_batch(batch, validate_batch(batch, rules, NOW_MS), rules)
        assert caught.value.code is code


def test_the_level_of_the_topic_is_used() -> None:
    rng = random.Random(3)
    records = [NewRecord(b"k", bytes(rng.choices(b"abcdef", k=300)), (), NOW_MS) for _ in range(100)]
    batch = build_batch(records)
    sizes = []
    for level in (1, 9):
        rules = rules_for(TopicConfig(compression_type="gzip", compression_gzip_level=level))
        sizes.append(len(rewrite_batch(batch, validate_batch(batch, rules, NOW_MS), rules)))
    assert sizes[1] < sizes[0]


# What the broker appends itself.


def test_the_broker_may_append_control_batches_and_they_stay_uncompressed() -> None:
    marker = build_end_txn_batch(
        EndTxnMarker(is_commit=True, coordinator_epoch=1), producer_id=5, producer_epoch=0, timestamp=NOW_MS
    )
    assert refusal(marker).code is ErrorCode.INVALID_RECORD
    rules = ValidationRules(codec=Codec.LZ4)
    assert validate_batch(marker, rules, NOW_MS, is_from_client=False).rewrite is Rewrite.NONE


def test_the_broker_may_append_for_a_producer_without_sequences() -> None:
    batch = build_batch(records_of(1), producer_id=5, producer_epoch=0, is_transactional=True)
    assert refusal(batch).code is ErrorCode.INVALID_RECORD
    assert validate_batch(batch, RULES, NOW_MS, is_from_client=False).rewrite is Rewrite.NONE


# Fuzzing.


@pytest.mark.parametrize("fix", [with_crc, bytes], ids=["crc made to fit", "crc left wrong"])
@pytest.mark.parametrize("codec", list(Codec))
def test_mutated_batches_raise_nothing_but_the_declared_exceptions(
    codec: Codec, fix: Callable[[bytearray], bytes]
) -> None:
    rng = random.Random(f"{codec.name} {fix.__name__}")
    records = [
        NewRecord(b"k" * (n % 5), b"v" * (n % 90), (("h", b"x"),) * (n % 2), NOW_MS + n) for n in range(40)
    ]
    original = build_batch(records, codec=codec)
    rules = ValidationRules(decompressed_bytes_max=100_000)
    for _ in range(800):
        buffer = bytearray(original)
        for _ in range(rng.randrange(1, 4)):
            buffer[rng.randrange(12, len(buffer))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        if rng.random() < 0.1:
            del buffer[rng.randrange(HEADER_SIZE, len(buffer)) :]
        batch = fix(buffer)
        try:
            validated = validate_batch(batch, rules, NOW_MS)
        except InvalidBatch:
            pass
        else:
            stored = rewrite_batch(batch, validated, rules)
            assert len(decode_records(stored)) == parse_header(stored).record_count
        try:
            list(iter_batches(batch))
            decode_records(batch, decompressed_bytes_max=100_000)
        except CorruptRecords:
            pass


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_with_a_declared_exception(data: bytes) -> None:
    with pytest.raises(InvalidBatch):
        validate_batch(data, RULES, NOW_MS)
