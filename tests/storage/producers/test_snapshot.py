import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.producers.snapshot import CorruptSnapshot, decode_snapshot, encode_snapshot
from penstock.storage.producers.state import ProducerEntry, StoredBatch

int64 = st.integers(0, 2**63 - 1)
stored_batches = st.builds(StoredBatch, st.integers(0, 2**31 - 1), int64, st.integers(0, 2**31 - 1), int64)


@st.composite
def producer_entries(draw: st.DrawFn) -> ProducerEntry:
    batches = draw(st.lists(stored_batches, max_size=5))
    return ProducerEntry(
        draw(int64),
        draw(st.integers(0, 2**15 - 1)),
        coordinator_epoch=draw(st.integers(-1, 2**31 - 1)),
        last_timestamp=batches[-1].timestamp if batches else draw(st.integers(-1, 2**63 - 1)),
        transaction_first_offset=draw(st.none() | int64),
        batches=batches,
    )


def fields_of(entry: ProducerEntry) -> tuple[object, ...]:
    return (
        entry.producer_id,
        entry.producer_epoch,
        entry.coordinator_epoch,
        entry.last_timestamp,
        entry.transaction_first_offset,
        entry.batches,
    )


@given(st.lists(producer_entries(), unique_by=lambda entry: entry.producer_id))
def test_a_snapshot_round_trips_with_every_batch_of_each_producer(entries: list[ProducerEntry]) -> None:
    decoded = decode_snapshot(encode_snapshot(entries))
    assert [fields_of(entry) for entry in decoded] == [fields_of(entry) for entry in entries]


def test_the_bytes_are_kafkas_and_the_last_batch_of_a_producer_comes_last() -> None:
    entry = ProducerEntry(
        0x0102030405060708,
        3,
        coordinator_epoch=9,
        last_timestamp=1000,
        transaction_first_offset=40,
        batches=[StoredBatch(5, 6, 1, 900), StoredBatch(17, 50, 4, 1000)],
    )
    body = bytes.fromhex(
        "00000002"  # two entries
        "0102030405060708"  # producer id
        "0003"  # producer epoch
        "00000005"  # last sequence
        "0000000000000006"  # last offset
        "00000001"  # offset delta
        "0000000000000384"  # timestamp
        "00000009"  # coordinator epoch
        "ffffffffffffffff"  # only the last entry has the transaction
        "0102030405060708"  # producer id
        "0003"  # producer epoch
        "00000011"  # last sequence
        "0000000000000032"  # last offset
        "00000004"  # offset delta
        "00000000000003e8"  # timestamp
        "00000009"  # coordinator epoch
        "0000000000000028"  # first offset of the transaction
    )
    assert encode_snapshot([entry]) == b"\x00\x01" + crc32c(body).to_bytes(4, "big") + body


def test_a_producer_without_batches_is_encoded_as_minus_ones() -> None:
    content = encode_snapshot([ProducerEntry(7, 2, coordinator_epoch=1, last_timestamp=5)])
    assert struct.unpack_from(">iq", content, 20) == (-1, -1)
    assert decode_snapshot(content)[0].batches == []


SOUND = encode_snapshot([ProducerEntry(7, 2, batches=[StoredBatch(1, 2, 0, 3)], last_timestamp=3)])


def with_crc(content: bytes) -> bytes:
    crc: int = crc32c(content[6:])
    return content[:2] + crc.to_bytes(4, "big") + content[6:]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        SOUND[:9],
        SOUND[:-1],
        SOUND + b"\x00",
        b"\x00\x02" + SOUND[2:],
        b"\x00\x00" + SOUND[2:],
        with_crc(SOUND[:-1]),
        with_crc(SOUND + b"\x00"),
        with_crc(SOUND[:6] + b"\x00\x00\x00\x02" + SOUND[10:]),
        with_crc(SOUND[:6] + b"\xff\xff\xff\xff" + SOUND[10:]),
        with_crc(SOUND[:6] + b"\x7f\xff\xff\xff" + SOUND[10:]),
    ],
)
def test_a_damaged_snapshot_is_corrupt(content: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(content)


@given(st.integers(0, len(SOUND) - 1), st.integers(1, 255))
def test_a_flip_of_any_byte_is_noticed(position: int, flip: int) -> None:
    damaged = bytearray(SOUND)
    damaged[position] ^= flip
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(bytes(damaged))


@given(st.binary(max_size=120))
def test_arbitrary_bytes_are_refused_with_the_declared_exception(content: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_snapshot(content)
