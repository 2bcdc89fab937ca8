"""What a test may feed."""

import pytest

from penstock.events import Event
from penstock.spark.testing.records import Record, as_record

EVENT = Event(
    event_type="A", sender="s", payload={"id": 5}, event_id="e", correlation_id="c", timestamp=1_700_000_000_000
)  # fmt: skip


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"id": 5}, Record(value=b'{"id":5}', key=b"5")),
        (EVENT, Record(value=EVENT.to_json(), key=b"5", timestamp_ms=1_700_000_000_000)),
        (b"\xff", Record(value=b"\xff")),
        ("text", Record(value=b"text")),
        (None, Record(value=None)),
        (Record(value=b"x", partition=1), Record(value=b"x", partition=1)),
    ],
)
def test_anything_becomes_a_record(given: object, expected: Record) -> None:
    assert as_record(given, "id") == expected


def test_a_function_gives_the_key() -> None:
    assert as_record("text", lambda given: given.upper()).key == b"TEXT"
    assert as_record({"id": None}, "id").key is None
