"""Events that Debezium 3.3 sent from PostgreSQL 15 (`tests/interop/debezium/record_events.py`)."""

import base64
import json
import lzma
from pathlib import Path
from typing import Any

import msgspec

RECORDED = Path(__file__).parent / "recorded"
FORMS = ("json", "json_schemas", "avro")


class Record(msgspec.Struct, frozen=True):
    topic: str
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def events(form: str, table: str = "") -> list[Record]:
    """Return the records of a form, or of one table of it."""
    with lzma.open(RECORDED / f"{form}.jsonl.xz", "rt") as file:
        found = [_record(json.loads(line)) for line in file]
    return [each for each in found if each.topic.endswith(f".{table}")] if table else found


def schemas() -> dict[int, str]:
    """Return the Avro schemas by their ids."""
    with lzma.open(RECORDED / "schemas.json.xz", "rt") as file:
        return {int(number): text for number, text in json.load(file).items()}


def _record(fields: dict[str, Any]) -> Record:
    data = {
        name: None if fields[name] is None else base64.b64decode(fields[name]) for name in ("key", "value")
    }
    return Record(fields["topic"], fields["offset"], fields["timestamp"], **data)
