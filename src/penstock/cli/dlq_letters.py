"""Dead letters as the commands see them: found, read to the end of their topic, chosen, shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from penstock.cli.connection import metadata_of, reading_failed, unknown_topic
from penstock.cli.errors import CommandError
from penstock.cli.record_format import Shown, json_record, readable, readable_time, shown_message
from penstock.cli.silence import POLL_SECONDS, Silence
from penstock.spark.dead_letter_format import TOPIC_SUFFIX, DeadLetter, read_headers

_POLL_RECORDS = 500
_CELL_CHARACTERS_MAX = 60


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    record: Shown
    about: DeadLetter


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters a command is about."""

    error: str | None = None
    step: str | None = None

    def takes(self, letter: Letter) -> bool:
        if self.step is not None and letter.about.step != self.step:
            return False
        return self.error is None or self.error.lower() in letter.about.error.lower()


def find_topic(client: Any, name: str) -> str:
    """The dead-letter topic that a pipeline's name, or its own name, means."""
    topics = metadata_of(client).topics
    for candidate in (f"{name}{TOPIC_SUFFIX}", name):
        if candidate in topics:
            return candidate
    letters = sorted(topic for topic in topics if topic.endswith(TOPIC_SUFFIX))
    if letters:
        raise CommandError(
            f"there is no topic {name}{TOPIC_SUFFIX}: dead letters are in {', '.join(letters[:5])}"
        )
    raise unknown_topic(name, topics)


def read_records(
    consumer: Any, topic: str, first: Mapping[int, int], ends: Mapping[int, int]
) -> Iterator[Shown]:
    """The records of the partitions from `first` on, up to `ends` and not further. Closes nothing."""
    from confluent_kafka import KafkaError, TopicPartition

    end_of_partition = KafkaError._PARTITION_EOF  # noqa: SLF001 - its public name begins so
    unread = {partition for partition, offset in first.items() if offset < ends[partition]}
    metadata_of(consumer)  # or the library would ask by itself, but only a second later
    consumer.assign([TopicPartition(topic, partition, first[partition]) for partition in sorted(unread)])
    silence = Silence(consumer, topic)
    while unread:
        messages = consumer.consume(_POLL_RECORDS, POLL_SECONDS)
        if messages:
            silence.heard()
        else:
            silence.lasts()
        for message in messages:
            partition, error = message.partition(), message.error()
            if error is not None and error.code() != end_of_partition:
                raise reading_failed(f"{topic}-{partition}", topic, error)
            if error is not None or message.offset() + 1 >= ends[partition]:
                unread.discard(partition)
            if error is None and message.offset() < ends[partition]:
                yield shown_message(message)


def as_letter(record: Shown) -> Letter | None:
    about = read_headers(record.headers)
    return Letter(record=record, about=about) if about is not None else None


COLUMNS = ("place", "time", "step", "record", "key", "error")


def table_row(letter: Letter) -> Sequence[object]:
    """One line of the table; what is long is cut, `--format json` has all of it."""
    record, origin = letter.record, letter.about.origin
    return (
        f"{record.partition}:{record.offset}",
        readable_time(origin.timestamp_ms if origin is not None else record.timestamp_ms),
        letter.about.step,
        f"{origin.topic}-{origin.partition}:{origin.offset}" if origin is not None else "-",
        _cut(readable(record.key)),
        letter.about.error,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _CELL_CHARACTERS_MAX else text[: _CELL_CHARACTERS_MAX - 1] + "…"


def json_line(letter: Letter) -> str:
    record, about = letter.record, letter.about
    origin = about.origin
    told: dict[str, Any] = {
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
    return msgspec.json.encode(told).decode()
