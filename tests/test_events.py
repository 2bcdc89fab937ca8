"""Events in their envelope: created, distinguished, and decoded."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.events import TIMESTAMP_MS_MAX, BadEvent, Event, from_json


def test_an_event_has_its_five_parts_and_its_payload_on_the_wire() -> None:
    event = Event(
        event_type="OrderPlaced",
        sender="shop",
        payload={"orderId": "o1"},
        event_id="e1",
        correlation_id="c1",
        timestamp=5,
    )
    assert json.loads(event.to_json()) == {
        "eventId": "e1",
        "eventType": "OrderPlaced",
        "timestamp": 5,
        "correlationId": "c1",
        "sender": "shop",
        "payload": {"orderId": "o1"},
    }


def test_omitted_fields_get_defaults() -> None:
    first, second = (Event(event_type="A", sender="s") for _ in range(2))
    assert len({first.event_id, second.event_id, first.correlation_id, second.correlation_id}) == 4
    assert first.timestamp <= second.timestamp


def test_an_event_caused_by_another_has_its_correlation_id() -> None:
    cause = Event(event_type="OrderPlaced", sender="shop")
    effect = Event(event_type="OrderPaid", sender="payments").caused_by(cause)
    assert effect.correlation_id == cause.correlation_id
    assert effect.event_id != cause.event_id


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=5
)  # fmt: skip


@settings(deadline=None)
@given(
    st.builds(
        Event,
        event_type=st.text(),
        sender=st.text(),
        payload=JSON,
        timestamp=st.integers(0, TIMESTAMP_MS_MAX),
    )
)
def test_an_event_round_trips(event: Event) -> None:
    assert from_json(event.to_json()) == event


def test_an_event_without_a_correlation_id_starts_its_own() -> None:
    event = from_json('{"eventId":"e1","eventType":"A","timestamp":1}')
    assert (event.correlation_id, event.sender, event.payload) == ("e1", "", None)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "not an event: empty"),
        (b"{", "not an event: no JSON: expecting property name enclosed in double quotes at character 1"),
        (b"[1]", "not an event: expected an object, found [1]"),
        (b"{}", "not an event: eventId: required, but missing"),
        (b'{"eventId":null}', "not an event: eventId: required, but null"),
        (b'{"eventId":"e","eventType":5}', "not an event: eventType: expected text, found 5"),
        (
            b'{"eventId":"e","eventType":"A","timestamp":"now"}',
            'not an event: timestamp: expected milliseconds since 1970, found "now"',
        ),
        (
            b'{"eventId":"e","eventType":"A","timestamp":-1}',
            "not an event: timestamp -1 is no time in milliseconds since 1970",
        ),
        (b'{"eventId":"\xff"}', "not an event: invalid UTF-8 at byte 12"),
    ],
)
def test_a_malformed_event_is_refused_with_the_reason(data: bytes, expected: str) -> None:
    with pytest.raises(BadEvent) as raised:
        from_json(data)
    assert str(raised.value) == expected
