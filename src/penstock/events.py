"""Events in the envelope that Penstock's pipelines read and write: type, time, sender, and correlation id.

On the wire an event is one JSON object:

    {"eventId": "…", "eventType": "OrderPlaced", "timestamp": 1777896000000,
     "correlationId": "…", "sender": "shop", "payload": {…}}

`timestamp` is milliseconds since 1970. All events of one business process have the same `correlationId`, which begins
with its first event.

    placed = Event(event_type="OrderPlaced", sender="shop", payload={"orderId": "o1"})
    paid = Event(event_type="OrderPaid", sender="payments", payload={"orderId": "o1"}).caused_by(placed)
    producer.produce("orders", key="o1", value=paid.to_json())
"""

import json
import time
import uuid
from typing import Any

import msgspec

TIMESTAMP_MS_MAX = 253_402_300_799_999  # the end of the year 9999
_SHOWN_CHARACTERS_MAX = 60


class BadEvent(ValueError):
    """The bytes are not an event; the message says why."""


def new_id() -> str:
    return str(uuid.uuid4())


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One event. By default it has a new id, the current time, and a new correlation id."""

    event_type: str
    sender: str
    payload: Any = None
    correlation_id: str = msgspec.field(default_factory=new_id)
    event_id: str = msgspec.field(default_factory=new_id)
    timestamp: int = msgspec.field(default_factory=now_ms)

    def caused_by(self, cause: "Event") -> "Event":
        """The same event with the correlation id of `cause`."""
        return msgspec.structs.replace(self, correlation_id=cause.correlation_id)

    def to_json(self) -> bytes:
        """The bytes of a record's value."""
        return _ENCODER.encode(self)


_ENCODER = msgspec.json.Encoder()


class _Wire(msgspec.Struct, kw_only=True, rename="camel"):
    """The decoded fields; a missing field has no default."""

    event_id: str
    event_type: str
    timestamp: int
    correlation_id: str | None = None
    sender: str | None = None
    payload: Any = None


_DECODER = msgspec.json.Decoder(_Wire)


def from_json(data: bytes | str) -> Event:
    """The event in a record's value. A missing correlation id is the event's own id; a missing sender is ''."""
    try:
        wire = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadEvent(f"not an event: {_explained(data, str(error))}") from None
    if not 0 <= wire.timestamp <= TIMESTAMP_MS_MAX:
        raise BadEvent(f"not an event: timestamp {wire.timestamp} is no time in milliseconds since 1970")
    return Event(
        event_id=wire.event_id,
        event_type=wire.event_type,
        timestamp=wire.timestamp,
        correlation_id=wire.event_id if wire.correlation_id is None else wire.correlation_id,
        sender="" if wire.sender is None else wire.sender,
        payload=wire.payload,
    )


_PARTS = {"eventId": str, "eventType": str, "timestamp": int, "correlationId": str, "sender": str}
_REQUIRED = ("eventId", "eventType", "timestamp")


def _explained(data: bytes | str, otherwise: str) -> str:
    """The first error, with the names of the envelope's fields."""
    try:
        found = json.loads(data if isinstance(data, str) else data.decode())
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        return (
            f"no JSON: {error.msg[:1].lower()}{error.msg[1:]} at character {error.pos}" if data else "empty"
        )
    except RecursionError:
        return "nested too deeply"
    if not isinstance(found, dict):
        return f"expected an object, found {_shown(found)}"
    for name, kind in _PARTS.items():
        value = found.get(name)
        if value is None:
            if name in _REQUIRED:
                return f"{name}: required, but {'null' if name in found else 'missing'}"
        elif type(value) is not kind:
            wanted = "text" if kind is str else "milliseconds since 1970"
            return f"{name}: expected {wanted}, found {_shown(value)}"
    return otherwise


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS_MAX else text[: _SHOWN_CHARACTERS_MAX - 1] + "…"
