"""Runs a pipeline's graph as a batch over the records of a time range.

The range of a partition is from its first record at or after the begin to the first at or after the end. The graph is
the graph that `run` streams, but watermarks have no effect: nothing is late, and windows are complete. Checkpoints and
consumer groups are not used, so a backfill may run beside the pipeline.

A backfill is done once for each output and range; repeated, it writes nothing. A table records the range in the same
transaction as the rows, topics in `<checkpoints>/backfills.json` (a map of `<output> <from> <to>` to the time of the
backfill). `again` writes a range again, after a change of the pipeline; earlier rows are not removed.

`replace` makes the rows of a table anew whose value of a column is in the range, no matter which run wrote them, in one
commit. It reads all records from the begin on, not only those of the range: a row may come from a record that arrived
later.
"""

import datetime as dt
import json
import time
from collections.abc import Mapping, Sequence

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.metadata import TopicPartition
from penstock.events import TIMESTAMP_MS_MAX, now_ms
from penstock.spark.lake.disk import Disk
from penstock.spark.lake.formats import open_table
from penstock.spark.lake.options import parse_options
from penstock.spark.lake.table import RowRange
from penstock.spark.pipeline.compile.columns import with_columns
from penstock.spark.pipeline.compile.frames import compile_frames
from penstock.spark.pipeline.compile.sources import read_ranges
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import PlannedQuery, plan_queries, state_directory
from penstock.spark.pipeline.outputs import TableTarget
from penstock.spark.pipeline.progress.batch import Offsets
from penstock.spark.pipeline.run.outputs import frame_of, sink_of
from penstock.spark.pipeline.run.sample import read_samples

DONE_FILE = "backfills.json"


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    from_ms: int
    to_ms: int  # exclusive


class SourceRange(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    start: Offsets
    end: Offsets


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    was_done: bool  # by an earlier backfill, so nothing was written


def select_queries(pipeline: Pipeline, output: str | None) -> tuple[PlannedQuery, ...]:
    queries = plan_queries(pipeline)
    for query in queries:
        if query.output is not None and query.output.target.is_for_each_topic and output in (None, query.key):
            raise ValueError(
                f"output {query.key} has a table for each topic, which cannot be backfilled: backfill other outputs "
                "with `--output`, or let a new pipeline read the topics from their beginning"
            )
    if output is None:
        return queries
    chosen = [query for query in queries if query.output is not None and query.key == output]
    if not chosen:
        names = ", ".join(each.name for each in pipeline.outputs)
        raise ValueError(f"the pipeline has no output `{output}`: it has {names}")
    return tuple(chosen)


def source_ranges(
    queries: Sequence[PlannedQuery], times: TimeRange, cluster: BlockingClient
) -> dict[str, SourceRange]:
    """Return the range of each topic source that the queries read, by its name."""
    sources = {source.name: source for query in queries for source in query.reads}
    topics = cluster.topics()
    found: dict[str, SourceRange] = {}
    for source in sources.values():
        names = [name for name in topics if source.reads(name)]
        where = [TopicPartition(name, index) for name in names for index in topics[name].partitions]
        earliest, latest, first, beyond = (
            cluster.list_offsets(dict.fromkeys(where, at))
            for at in (EARLIEST, LATEST, times.from_ms, times.to_ms)
        )
        start: Offsets = {}
        end: Offsets = {}
        for each in where:
            # -1: no record is that recent
            begin, stop = (at[each] if at[each].offset >= 0 else latest[each] for at in (first, beyond))
            begin_offset = max(begin.offset, earliest[each].offset)
            start.setdefault(each.topic, {})[each.partition] = begin_offset
            end.setdefault(each.topic, {})[each.partition] = max(stop.offset, begin_offset)
        found[source.name] = SourceRange(source=source.name, start=start, end=end)
    return found


def backfill(
    spark: SparkSession,
    pipeline: Pipeline,
    queries: Sequence[PlannedQuery],
    times: TimeRange,
    ranges: Mapping[str, SourceRange],
    *,
    again: bool = False,
) -> list[Backfilled]:
    """Write the range to each output in turn. Raises PipelineError if the pipeline does not compile."""
    pipeline = with_columns(pipeline, read_samples(spark, pipeline))
    starts = {name: each.start for name, each in ranges.items()}
    ends = {name: each.end for name, each in ranges.items()}
    done = BackfillLog(state_directory(pipeline))
    results: list[Backfilled] = []
    needed = _without_unread_sources(pipeline, ranges)
    compiled = compile_frames(spark, needed, read_ranges(spark, needed, starts, ends))
    compiled.raise_problems(pipeline)
    for query in queries:
        key = f"{query.key} {times.from_ms} {times.to_ms}"
        was_done = key in done.known and not again
        if not was_done:
            sink, mode = sink_of(pipeline, query)
            writer = frame_of(pipeline, compiled, query).write.format(sink.format).options(**sink.options)
            if query.output is not None:
                write_id = f"backfill {pipeline.name} {key}" + (f" {time.time_ns()}" if again else "")
                writer = writer.options(**query.output.target.idempotent_write_options(write_id))
            writer.mode("overwrite" if mode == "complete" else "append").save()
            done.add(key)
        results.append(Backfilled(query=query.name, was_done=was_done))
    return results


def replace(
    spark: SparkSession,
    pipeline: Pipeline,
    query: PlannedQuery,
    where: RowRange,
    cluster: BlockingClient,
) -> int:
    """Replace the rows of the range, and return how many there are now. The rows pass through this process."""
    options = parse_options(check_replaceable(query).sink(pipeline).options)
    table = open_table(options.location, options.table_format)
    state = table.state()
    if state is None:
        raise ValueError(
            f"there is no table at {table.path} yet: run the pipeline, or backfill without --replace"
        )
    where.bounds(state.schema, table.path)
    since = TimeRange(from_ms=round(where.start.timestamp() * 1000), to_ms=TIMESTAMP_MS_MAX)
    ranges = source_ranges([query], since, cluster)
    starts = {name: each.start for name, each in ranges.items()}
    ends = {name: each.end for name, each in ranges.items()}
    needed = _without_unread_sources(pipeline, ranges)
    compiled = compile_frames(spark, needed, read_ranges(spark, needed, starts, ends))
    compiled.raise_problems(pipeline)
    frame = frame_of(needed, compiled, query)
    time = F.col(where.column)
    rows = frame.filter((time >= F.lit(where.start)) & (time < F.lit(where.end))).toArrow()
    table.replace_rows(rows, where)
    return rows.num_rows


def check_replaceable(query: PlannedQuery) -> TableTarget:
    """Return the target of the query. A ValueError says why its rows cannot be replaced."""
    target = None if query.output is None else query.output.target
    if not isinstance(target, TableTarget):
        what = f"topic {query.writes_topic}" if query.writes_topic else "a console"
        raise ValueError(  # noqa: TRY004 - about the user's choice
            f"{query.name} writes to {what}, where nothing can be replaced: --replace is for tables. Write the "
            f"range to a new topic instead: give an output with another name and topic, and backfill that"
        )
    return target


def row_range(column: str, times: TimeRange) -> RowRange:
    start, end = (dt.datetime.fromtimestamp(each / 1000, dt.UTC) for each in (times.from_ms, times.to_ms))
    return RowRange(column=column, start=start, end=end)


def _without_unread_sources(pipeline: Pipeline, ranges: Mapping[str, SourceRange]) -> Pipeline:
    """Return the pipeline without the topics that are not read, and without the steps that read them."""
    missing = {
        source.name
        for source in pipeline.sources
        if isinstance(source, TopicSource) and source.name not in ranges
    }
    kept = []
    for step in pipeline.steps:
        if missing.intersection(step.inputs):
            missing.add(step.name)
        else:
            kept.append(step)
    sources = tuple(source for source in pipeline.sources if source.name not in missing)
    return msgspec.structs.replace(pipeline, sources=sources, steps=tuple(kept))


class BackfillLog:
    """The backfills that were done, in `backfills.json`."""

    def __init__(self, directory: str) -> None:
        self._disk = Disk(directory)
        content = self._disk.read(DONE_FILE)
        self.known: dict[str, int] = {} if content is None else json.loads(content)

    def add(self, key: str) -> None:
        self.known[key] = now_ms()
        self._disk.write(DONE_FILE, json.dumps(self.known, indent=2).encode())
