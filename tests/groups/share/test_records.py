"""Records of share groups, byte by byte where it matters, and there and back."""

import pytest

from penstock.groups.share.ledger import Ledger, ledger_of
from penstock.groups.share.records import Change, decode, encode
from penstock.protocol.errors import ProtocolError
from penstock.protocol.messages.share_group_metadata_record import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from tests.groups.share.driver import Consumer, Driver

A, B = b"a" * 16, b"b" * 16


def test_a_groups_epoch_is_written_as_kafka_writes_it() -> None:
    change: Change = ShareGroupMetadataKey(group_id="g"), ShareGroupMetadataValue(epoch=3, metadata_hash=7)

    record = encode(change, 5)

    assert record.key == bytes.fromhex("000b 0001 67")
    assert record.value == bytes.fromhex("0000 00000003 0000000000000007 00")
    assert record.timestamp == 5


def test_every_record_of_a_group_comes_back_as_it_was() -> None:
    driver = Driver(a=2)
    member = Consumer(driver, "m1").join()
    driver.share_coordinator_answers()
    member.beat()
    driver.leave("m1")
    log: list[Change] = [*driver.log, *driver.group.tombstones()]

    for change in log:
        record = encode(change, 0)
        assert record.key is not None
        assert decode(record.key, record.value) == change
    assert len({type(key) for key, _ in log}) == 6


def test_records_of_other_groups_are_not_taken_and_torn_ones_refused() -> None:
    assert decode(b"\x00\x03\x00\x01g", None) is None
    with pytest.raises(ProtocolError):
        decode(b"\x00\x0b\x00\x09g", None)


def test_the_ledger_follows_a_partition_from_its_first_reader_to_its_end() -> None:
    ledger = Ledger().begun({A: frozenset({0, 1})}, {A: "a"})
    assert ledger_of(ledger.value()) == ledger

    ledger = ledger.done({A: frozenset({0})}).failed({A: frozenset({1})})
    assert (ledger.initializing, ledger.initialized) == ({}, {A: frozenset({0})})

    ledger = ledger.condemned([A])
    assert (ledger.initialized, ledger.deleting, ledger.names) == ({}, frozenset({A}), {A: "a"})
    assert ledger_of(ledger.value()) == ledger
    assert ledger.forgotten([A, B]) == Ledger()


def test_what_is_read_again_before_it_was_deleted_stays() -> None:
    ledger = Ledger().begun({A: frozenset({0})}, {A: "a"}).condemned([A]).begun({A: frozenset({0})}, {A: "a"})

    assert (ledger.deleting, ledger.initializing) == (frozenset(), {A: frozenset({0})})
