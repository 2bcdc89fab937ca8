"""Records of a dead-letter topic: parsed, selected and formatted."""

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.cli.connect.target import unknown_topic
from penstock.cli.connect.topics import fetch_metadata
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Record, format_bytes, format_time, json_record
from penstock.spark.dead_letter_format import TOPIC_SUFFIX, DeadLetter, read_headers

COLUMNS = ("place", "time", "step", "record", "key", "error")
_CELL_CHARACTERS_MAX = 60


class RejectedRecord(msgspec.Struct, frozen=True, kw_only=True):
    record: Record
    rejection: DeadLetter


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects records by a part of their error, and by their step."""

    error: str | None = None
    step: str | None = None

    def matches(self, rejected: RejectedRecord) -> bool:
        if self.step is not None and rejected.rejection.step != self.step:
            return False
        return self.error is None or self.error.lower() in rejected.rejection.error.lower()


def find_topic(client: Any, name: str) -> str:
    """Find a dead-letter topic by its own name, or by that of its pipeline."""
    topics = fetch_metadata(client).topics
    for candidate in (f"{name}{TOPIC_SUFFIX}", name):
        if candidate in topics:
            return candidate
    found = sorted(topic for topic in topics if topic.endswith(TOPIC_SUFFIX))
    if found:
        raise CommandError(
            f"there is no dead-letter topic {name}{TOPIC_SUFFIX}: there are {', '.join(found[:5])}"
        )
    raise unknown_topic(name, topics)


def parse_rejected(record: Record) -> RejectedRecord | None:
    rejection = read_headers(record.headers)
    return RejectedRecord(record=record, rejection=rejection) if rejection is not None else None


def table_row(rejected: RejectedRecord) -> Sequence[object]:
    """Format a record as a row; a long key is cut, `--format json` has all of it."""
    record, origin = rejected.record, rejected.rejection.origin
    key = format_bytes(record.key)
    return (
        f"{record.partition}:{record.offset}",
        format_time(origin.timestamp_ms if origin is not None else record.timestamp_ms),
        rejected.rejection.step,
        None if origin is None else f"{origin.topic}-{origin.partition}:{origin.offset}",
        key if len(key) <= _CELL_CHARACTERS_MAX else key[: _CELL_CHARACTERS_MAX - 1] + "…",
        rejected.rejection.error,
    )


def json_line(rejected: RejectedRecord) -> str:
    record, rejection = rejected.record, rejected.rejection
    origin = rejection.origin
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "pipeline": rejection.pipeline,
        "step": rejection.step,
        "error": rejection.error,
        "origin": None
        if origin is None
        else {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "timestamp": origin.timestamp_ms,
        },
        **json_record(record.offset, record.timestamp_ms, record.key, record.value, rejection.headers),
    }
    return msgspec.json.encode(fields).decode()
