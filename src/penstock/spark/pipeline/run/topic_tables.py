"""Writes a batch to the tables of its topics: one commit for each table, with the batch's identity.

A table that refuses the batch does not stop the others. The batch fails at the end, and when it comes again the tables
that have it take nothing. Dead letters are written last, so that they too are written once.

Changes of a database arrive described (`decode.debezium.peek`): the columns of a table are those that it has and those
of the batch's events. Only then is each row decoded.
"""

from functools import reduce
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name that all Spark code has for it
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.spark.dead_letters import dead_letters
from penstock.spark.decode.debezium.decoder import DebeziumRowDecoder
from penstock.spark.decode.debezium.merging import merge_columns
from penstock.spark.decode.debezium.peek import COLUMNS, KEY, ChangesOfManyTables
from penstock.spark.decode.debezium.rows import DELETE, META_COLUMNS, OP, ORDER, SOURCE, TRUNCATE
from penstock.spark.decode.frames import decode_rows
from penstock.spark.lake.errors import TableError
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.table import TableState
from penstock.spark.pipeline.compile.columns import parse_columns
from penstock.spark.pipeline.compile.expectations import count_rejects
from penstock.spark.pipeline.core.model import UPSERT, Output, Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import dead_letter_topic, rejects_of
from penstock.spark.pipeline.outputs import TableTarget, TopicTarget
from penstock.spark.pipeline.progress.batch import REJECTED_METRICS, Counts
from penstock.spark.pipeline.run.writers import OutputIdentity, TableWriter, TopicWriter
from penstock.spark.record_columns import ERROR, RECORD

_TOPIC = "topic"
_NO_KEY = (
    "the record has no key, and an upsert needs one: give the table a primary key, or set `message.key.columns` of the "
    "connector"
)


class _Topic(msgspec.Struct, frozen=True, kw_only=True):
    """What the batch has of a topic."""

    name: str
    schemas: tuple[pa.Schema, ...] = ()
    keys: tuple[tuple[str, ...], ...] = ()
    truncate: str | None = None


class TopicTablesWriter:
    def __init__(self, pipeline: Pipeline, output: Output, identity: OutputIdentity) -> None:
        assert isinstance(output.target, TableTarget)
        self._pipeline = pipeline
        self._output = output
        self._target = output.target
        self._identity = identity
        self._topics_by_path: dict[str, str] = {}
        self._decoder = next(
            (
                source.decoder
                for source in pipeline.sources
                if isinstance(source, TopicSource) and source.name == output.input
            ),
            None,
        )

    def write(self, frame: DataFrame, batch_id: int) -> Counts:
        rows = frame.persist()
        try:
            self._write(rows, batch_id)
        finally:
            rows.unpersist()
        return {}

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        failures: list[tuple[str, Exception]] = []
        rejected: list[DataFrame] = []
        for topic in self._topics(rows):
            try:
                rejected += self._write_topic(rows, topic, batch_id)
            except Exception as failure:  # noqa: BLE001 - the other tables are written
                failures.append((topic.name, failure))
        if failures:
            name, first = failures[0]
            others = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            raise TableError(f"topic {name}{others}: {first}") from first
        if rejected:
            letters = dead_letters(
                reduce(DataFrame.unionByName, rejected),
                pipeline=self._pipeline.name,
                step=rejects_of(self._output),
            )
            self._dead_letters().write(letters, batch_id)

    def _topics(self, rows: DataFrame) -> list[_Topic]:
        topic = F.col(f"{RECORD}.topic").alias(_TOPIC)
        if COLUMNS not in rows.columns:
            return [_Topic(name=row[0]) for row in rows.select(topic).distinct().orderBy(_TOPIC).collect()]
        found = rows.groupBy(topic).agg(
            F.collect_set(COLUMNS).alias(COLUMNS),
            F.collect_set(KEY).alias(KEY),
            F.max(F.when(F.col(OP) == TRUNCATE, F.col(ORDER))).alias(TRUNCATE),
        )
        return [_described(row) for row in found.orderBy(_TOPIC).collect()]

    def _write_topic(self, rows: DataFrame, topic: _Topic, batch_id: int) -> list[DataFrame]:
        """Write the rows of a topic; return the frame of those that are refused, if there are any."""
        own = rows.filter(F.col(f"{RECORD}.topic") == topic.name)
        target = self._target.of_topic(topic.name)
        self._check_path(target.path, topic.name)
        if COLUMNS not in rows.columns:
            self._write_table(target, target.select(own), batch_id, None)
            return []
        return self._write_changes(own, target, topic, batch_id)

    def _check_path(self, path: str, topic: str) -> None:
        other = self._topics_by_path.setdefault(path, topic)
        if other != topic:
            raise TableError(
                f"topics {other} and {topic} have the same table {path}: write {{topic}} in its path"
            )

    def _write_changes(
        self, own: DataFrame, target: TableTarget, topic: _Topic, batch_id: int
    ) -> list[DataFrame]:
        state = open_table(target.location(self._pipeline), target.table_format).state()
        decoded = decode_rows(
            own.select(f"{RECORD}.*"), DebeziumRowDecoder(self._settings(), _columns(state, topic))
        )
        is_upsert = self._output.mode == UPSERT
        if is_upsert:
            key = target.key or _key(state, topic)
            target = msgspec.structs.replace(
                target,
                key=key,
                order_by=target.order_by or (ORDER,),
                delete_when=target.delete_when or _DELETE_WHEN,
            )
            has_key = (
                F.col(f"{RECORD}.key").isNotNull() | (F.col(OP) == TRUNCATE) | F.lit(bool(self._target.key))
            )
            decoded = decoded.withColumn(ERROR, F.coalesce(F.col(ERROR), F.when(~has_key, _NO_KEY)))
        rejected = decoded.filter(F.col(ERROR).isNotNull()).select(RECORD, ERROR)
        if is_upsert and not target.key:
            return [rejected]
        name = rejects_of(self._output)
        good = count_rejects(decoded, name, F.col(ERROR)).filter(F.col(ERROR).isNull()).drop(ERROR)
        if is_upsert:
            good = good.drop(SOURCE)
        target.check_rows(good.columns, self._output.mode)
        counts = self._write_table(target, target.select(good), batch_id, topic.truncate)
        return [rejected] if any(counts.get(REJECTED_METRICS + name, {}).values()) else []

    def _settings(self) -> Any:
        assert isinstance(self._decoder, ChangesOfManyTables)
        return self._decoder

    def _write_table(
        self, target: TableTarget, frame: DataFrame, batch_id: int, truncate: str | None
    ) -> Counts:
        writer = TableWriter(target.sink(self._pipeline), self._output.stream_mode, self._identity)
        return writer.write_changes(frame, batch_id, truncate)

    def _dead_letters(self) -> TopicWriter:
        sink = TopicTarget(topic=dead_letter_topic(self._pipeline)).sink(self._pipeline)
        query_id = f"{self._identity.query_id}.dead-letters"
        return TopicWriter(sink, "append", msgspec.structs.replace(self._identity, query_id=query_id))


_DELETE_WHEN = f"{OP} = '{DELETE}'"


def _described(row: Row) -> _Topic:
    return _Topic(
        name=row[_TOPIC],
        schemas=tuple(to_arrow_schema(parse_columns(text), timezone="UTC") for text in row[COLUMNS]),
        keys=tuple(sorted(tuple(msgspec.json.decode(text)) for text in row[KEY])),
        truncate=row[TRUNCATE],
    )


def _columns(state: TableState | None, topic: _Topic) -> pa.Schema:
    """Return the columns of the database's table: those that the table here has, and those of the events."""
    if state is None:
        return merge_columns(None, topic.schemas)
    own = [field for field in state.schema if field.name not in META_COLUMNS]
    return merge_columns(pa.schema(own), topic.schemas)


def _key(state: TableState | None, topic: _Topic) -> tuple[str, ...]:
    if state is not None and state.merge_rules is not None:
        return state.merge_rules.key
    return topic.keys[-1] if topic.keys else ()
