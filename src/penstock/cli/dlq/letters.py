"""Dead letters of a topic: read, selected and formatted."""

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


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    record: Record
    about: DeadLetter


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Selects letters by a part of their error, and by their step."""

    error: str | None = None
    step: str | None = None

    def matches(self, letter: Letter) -> bool:
        if self.step is not None and letter.about.step != self.step:
            return False
        return self.error is None or self.error.lower() in letter.about.error.lower()


def find_topic(client: Any, name: str) -> str:
    """Find a dead-letter topic by its own name, or by that of its pipeline."""
    topics = fetch_metadata(client).topics
    for candidate in (f"{name}{TOPIC_SUFFIX}", name):
        if candidate in topics:
            return candidate
    letters = sorted(topic for topic in topics if topic.endswith(TOPIC_SUFFIX))
    if letters:
        raise CommandError(
            f"there is no topic {name}{TOPIC_SUFFIX}: dead letters are in {', '.join(letters[:5])}"
        )
    raise unknown_topic(name, topics)


def to_letter(record: Record) -> Letter | None:
    about = read_headers(record.headers)
    return Letter(record=record, about=about) if about is not None else None


def table_row(letter: Letter) -> Sequence[object]:
    """Format a letter as a row; a long key is cut, `--format json` has all of it."""
    record, origin = letter.record, letter.about.origin
    key = format_bytes(record.key)
    return (
        f"{record.partition}:{record.offset}",
        format_time(origin.timestamp_ms if origin is not None else record.timestamp_ms),
        letter.about.step,
        None if origin is None else f"{origin.topic}-{origin.partition}:{origin.offset}",
        key if len(key) <= _CELL_CHARACTERS_MAX else key[: _CELL_CHARACTERS_MAX - 1] + "…",
        letter.about.error,
    )


def json_line(letter: Letter) -> str:
    record, about = letter.record, letter.about
    origin = about.origin
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "pipeline": about.pipeline,
        "step": about.step,
        "error": about.error,
        "origin": None
        if origin is None
        else {
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "timestamp": origin.timestamp_ms,
        },
        **json_record(record.offset, record.timestamp_ms, record.key, record.value, about.headers),
    }
    return msgspec.json.encode(fields).decode()
