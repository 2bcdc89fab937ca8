import pytest

from penstock.client.aio import FetchedPartition
from penstock.console.search import MATCHES_MAX, Needle, Scan
from penstock.protocol.records.record import Record


def _fetched(*records: Record) -> FetchedPartition:
    return FetchedPartition(records=list(records), next_offset=records[-1].offset + 1 if records else 0)


def _record(offset: int, key: bytes | None, value: bytes | None) -> Record:
    return Record(offset, 0, key, value)


@pytest.mark.parametrize(
    ("text", "field", "is_found"),
    [
        ("order", "any", True),
        ("ORDER", "value", True),
        ("order", "key", False),
        ("customer", "key", True),
        ("customer", "value", False),
        ("größe", "any", True),
        ("absent", "any", False),
    ],
)
def test_text_is_found_in_the_chosen_part(text: str, field: str, is_found: bool) -> None:
    record = _record(0, b"Customer-1", "Order of größe 7".encode())
    assert Needle(text, field).is_in(record) is is_found


def test_null_and_binary_parts_do_not_stop_a_search() -> None:
    assert not Needle("x", "any").is_in(_record(0, None, None))
    assert Needle("x", "any").is_in(_record(0, b"\xff\x00", b"\xfe\xffX"))


def test_a_scan_reads_each_partition_up_to_its_end_at_the_start() -> None:
    scan = Scan(Needle("a", "any"), {0: 2, 1: 0}, {0: 4, 1: 0})
    assert scan.wanted() == {0: 2}
    found = scan.matches_in(0, _fetched(*(_record(n, None, b"a") for n in range(2, 8))))
    assert [record.offset for record in found] == [2, 3]
    assert scan.wanted() == {}
    assert scan.progress() == {"scanned": 2, "total": 2, "matches": 2}
    assert scan.reason is None


def test_a_scan_stops_when_it_has_found_enough() -> None:
    scan = Scan(Needle("a", "any"), {0: 0}, {0: 10_000})
    found = scan.matches_in(0, _fetched(*(_record(n, None, b"a") for n in range(MATCHES_MAX + 10))))
    assert len(found) == MATCHES_MAX
    assert scan.reason == f"Stopped after {MATCHES_MAX} matches"
