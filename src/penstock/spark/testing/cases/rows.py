"""What a pipeline has written so far, as rows: of topics the new ones, of tables all.

A topic is a log, so a step is compared with what it added; a table is a state, so a step is compared with all of it.
"""

import json
from collections.abc import Iterator
from typing import Any

from penstock.embedded import Record
from penstock.spark.dead_letter_format import read_headers
from penstock.spark.lake.formats import format_at
from penstock.spark.pipeline.core.model import Output, Pipeline
from penstock.spark.pipeline.core.queries import dead_letter_topic
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.testing.compare import ActualRow, Row
from penstock.spark.testing.kit import PipelineKit, read_table


class WrittenRows:
    """The rows of one pipeline, which is isolated already."""

    def __init__(self, kit: PipelineKit, pipeline: Pipeline) -> None:
        self._kit = kit
        self._pipeline = pipeline
        self._positions: dict[tuple[str, int], int] = {}  # of topic and partition, after the steps before

    def of_output(self, output: Output) -> list[ActualRow]:
        if isinstance(output.target, TopicTarget):
            return [_topic_row(record) for record in self._new_records(output.target.topic)]
        assert isinstance(output.target, TableTarget), output.target
        path = self._pipeline.resolve(output.target.path)
        if format_at(path) is None:  # no row was written yet
            return []
        return [ActualRow(row) for row in read_table(path)]

    def dead_letters(self) -> list[ActualRow]:
        return list(map(_dead_letter_row, self._new_records(dead_letter_topic(self._pipeline))))

    def advance(self) -> None:
        """Begin the next step."""
        topics = [
            each.target.topic for each in self._pipeline.outputs if isinstance(each.target, TopicTarget)
        ]
        for topic in {*topics, dead_letter_topic(self._pipeline)}:
            self.skip(topic)

    def skip(self, topic: str) -> None:
        """Leave out the records that the topic has now, such as those that the case has given to it."""
        for record in self._kit.records(topic):
            self._positions[topic, record.partition] = record.offset + 1

    def _new_records(self, topic: str) -> Iterator[Record]:
        for record in self._kit.records(topic):
            if record.offset >= self._positions.get((topic, record.partition), 0):
                yield record


def _topic_row(record: Record) -> ActualRow:
    """Return the fields of a JSON object as columns; anything else is the column `_value`."""
    value = _decoded(record.value)
    metadata: Row = {
        "_key": _decoded_text(record.key),
        "_partition": record.partition,
        "_offset": record.offset,
        "_timestamp": record.timestamp_ms,
        "_headers": {name: _decoded_text(each) for name, each in record.headers},
    }
    return ActualRow(value if isinstance(value, dict) else {"_value": value}, metadata)


def _dead_letter_row(record: Record) -> ActualRow:
    letter = read_headers(record.headers)
    columns: dict[str, Any] = {"value": _decoded(record.value), "key": _decoded_text(record.key)}
    if letter is not None:
        columns = {"step": letter.step, "error": letter.error, **columns}
        if letter.origin is not None:
            columns |= {
                "topic": letter.origin.topic,
                "partition": letter.origin.partition,
                "offset": letter.origin.offset,
            }
    return ActualRow(columns)


def _decoded(value: bytes | None) -> Any:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return _decoded_text(value)


def _decoded_text(value: bytes | None) -> str | bytes | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return value
