"""Outputs to topics: the sink of Penstock, or Spark's own where the pipeline chose it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import msgspec

from penstock.spark.encode.settings import DEAD_LETTER, Encoder
from penstock.spark.pipeline.core.model import Pipeline, Sink, Target
from penstock.spark.pipeline.core.names import topic_name_problem
from penstock.spark.pipeline.core.problems import choice_problems
from penstock.spark.record_columns import ENCODED_KEY, ENCODED_VALUE, OWN_COLUMNS
from penstock.spark.sink.settings import AT_LEAST_ONCE, EXACTLY_ONCE
from penstock.spark.text import counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from penstock.spark.encode.schemas import Place

_PENSTOCK = "penstock"


class TopicTarget(Target, frozen=True, kw_only=True):
    kind = "topic"
    main = "topic"

    topic: str
    key: str | None = None  # a SQL expression
    value: str | None = None  # a SQL expression; without it the whole row as JSON
    headers: dict[str, str] = msgspec.field(default_factory=dict)  # name -> SQL expression
    delivery: Annotated[str, (EXACTLY_ONCE, AT_LEAST_ONCE)] = EXACTLY_ONCE
    partitions: int | None = None  # of the topic, if it has to be created
    encode: Encoder | None = None  # of the value; without one it is text or bytes already
    encode_key: Encoder | None = None

    @property
    def writes_topic(self) -> str | None:
        return self.topic

    def problems(self) -> Iterator[str]:
        if wrong := topic_name_problem(self.topic):
            yield wrong
        if self.encode_key is not None and self.key is None:
            yield "`encode_key` encodes the value of `key`, which is missing"
        for name, encoder in (("encode", self.encode), ("encode_key", self.encode_key)):
            if encoder is not None:
                wrongs = (*choice_problems(encoder), *encoder.problems())
                yield from (f"{name}: {encoder.kind}: {wrong}" for wrong in wrongs)

    def mode_problems(self, mode: str) -> Iterator[str]:
        yield from super().mode_problems(mode)
        if self.rejects_rows and mode != "append":
            yield f"in {mode} mode rows that cannot be encoded stop the query: remove `otherwise: dead-letter`"

    @property
    def rejects_rows(self) -> bool:
        return any(
            each is not None and each.otherwise == DEAD_LETTER for each in (self.encode, self.encode_key)
        )

    def sink(self, pipeline: Pipeline) -> Sink:
        """Only Penstock's sink writes exactly once; Spark's connector may write records twice."""
        options = {**pipeline.client_options, "topic": self.topic}
        if pipeline.source_format != _PENSTOCK and self.delivery != EXACTLY_ONCE:
            return Sink(format=pipeline.source_format, options=options)
        options["delivery"] = self.delivery
        return Sink(format=_PENSTOCK, options=options, batch_id_option="batch_id")

    def describe(self, partitions: Mapping[str, int] | None) -> str:
        encoded = "" if self.encode is None else f", {self.encode.label}"
        return f"topic {describe_written(self.topic, self.partitions, partitions)}, {self.delivery}{encoded}"

    def encode_rows(self, frame: "DataFrame", place: "Place") -> "DataFrame":
        from penstock.spark.encode.columns import add_encoded  # noqa: PLC0415 - the file is read without Spark

        place = msgspec.structs.replace(place, topic=self.topic)
        if self.encode_key is not None and self.key is not None:
            place_of_key = msgspec.structs.replace(place, is_key=True)
            frame = add_encoded(frame, ENCODED_KEY, self.key, self.encode_key, place_of_key)
        if self.encode is not None:
            frame = add_encoded(frame, ENCODED_VALUE, self.value, self.encode, place)
        return frame

    def select(self, frame: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - the file is read without Spark

        columns = []
        if self.encode_key is not None:
            columns.append(F.col(ENCODED_KEY).alias("key"))
        elif self.key is not None:
            columns.append(_bytes_or_text(frame, self.key).alias("key"))
        if self.encode is not None:
            columns.append(F.col(ENCODED_VALUE).alias("value"))
        elif self.value is not None:
            columns.append(_bytes_or_text(frame, self.value).alias("value"))
        else:
            row = [F.col(f"`{name}`") for name in frame.columns if name not in OWN_COLUMNS]
            columns.append(F.to_json(F.struct(*row)).alias("value"))
        if self.headers:
            headers = [
                F.struct(
                    F.lit(name).alias("key"),
                    _bytes_or_text(frame, expression).cast("binary").alias("value"),
                )
                for name, expression in self.headers.items()
            ]
            columns.append(F.array(*headers).alias("headers"))
        return frame.select(*columns)


def _bytes_or_text(frame: "DataFrame", expression: str) -> "Column":
    """Keep bytes and text; write anything else as its text, and a structure as JSON."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    column = F.expr(expression)
    kind = frame.select(column.alias("value")).schema["value"].dataType.typeName()
    if kind in ("string", "binary"):
        return column
    return F.to_json(column) if kind in ("struct", "array", "map") else column.cast("string")


def describe_topic(topic: str, partitions: Mapping[str, int] | None) -> str:
    if partitions is None:
        return topic
    count = partitions.get(topic)
    return f"{topic} (missing)" if count is None else f"{topic} ({counted(count, 'partition')})"


def describe_written(topic: str, wanted: int | None, partitions: Mapping[str, int] | None) -> str:
    """Describe a topic that is created when the pipeline starts, if it is missing."""
    if partitions is None or topic in partitions:
        return describe_topic(topic, partitions)
    count = "the broker's number of partitions" if wanted is None else counted(wanted, "partition")
    return f"{topic} (will be created with {count})"
