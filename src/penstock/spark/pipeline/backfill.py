"""Runs a pipeline's graph over the records of a time range, as a batch: what is already in the topics is written again.

A range is what arrived in it: of each partition, from the first record at or after its beginning to the first at or
after its end. The graph is the one that `run` streams, but watermarks have no effect: nothing is late, and windows are
complete. Checkpoints and consumer groups are left alone, so a backfill may run beside the pipeline.

A backfill is done once for each output and range. Repeated, it writes nothing: a table records the range in the same
transaction as the rows, topics in `<checkpoints>/backfills.json` (a map of `<output> <from> <to>` to the time when it
was done). To write a range again, after a change of the pipeline, say so with `again`; what was written before is not
removed.
"""

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from pyspark.sql import SparkSession

from penstock.client.blocking.cluster import EARLIEST, LATEST, Cluster
from penstock.client.metadata import TopicPartition
from penstock.spark.pipeline.compile import compile_frames
from penstock.spark.pipeline.compile_errors import CompileError
from penstock.spark.pipeline.compile_sources import read_ranges
from penstock.spark.pipeline.model import Pipeline, TableTarget, TopicSource
from penstock.spark.pipeline.problems import PipelineError
from penstock.spark.pipeline.progress import Offsets
from penstock.spark.pipeline.queries import PlannedQuery, plan_queries, state_directory
from penstock.spark.pipeline.run_queries import written

DONE_FILE = "backfills.json"


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    from_ms: int
    to_ms: int  # exclusive


class SourceRange(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a source that are in the range."""

    source: str
    start: Offsets
    end: Offsets

    @property
    def records(self) -> int:
        """Offsets in the range; compaction and transactions may have left fewer records."""
        return sum(
            max(0, end - self.start[topic][partition])
            for topic, partitions in self.end.items()
            for partition, end in partitions.items()
        )


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    query: str
    was_done: bool  # before: nothing was written now


def select_queries(pipeline: Pipeline, output: str | None) -> tuple[PlannedQuery, ...]:
    """The queries to backfill: all of the pipeline, or one output alone."""
    queries = plan_queries(pipeline)
    if output is None:
        return queries
    chosen = [query for query in queries if query.output is not None and query.key == output]
    if not chosen:
        names = ", ".join(each.name for each in pipeline.outputs)
        raise ValueError(f"the pipeline has no output `{output}`: it has {names}")
    return tuple(chosen)


# -- which records


def source_ranges(
    queries: Sequence[PlannedQuery], times: TimeRange, cluster: Cluster
) -> dict[str, SourceRange]:
    """The offsets of each topic source that the queries read, by its name."""
    sources = {source.name: source for query in queries for source in query.reads}
    topics = cluster.topics()
    found: dict[str, SourceRange] = {}
    for source in sources.values():
        names = [name for name in topics if _reads(source, name)]
        where = [TopicPartition(name, index) for name in names for index in topics[name].partitions]
        found[source.name] = _range_of(source.name, where, times, cluster)
    return found


def _reads(source: TopicSource, topic: str) -> bool:
    if source.pattern is not None:
        return re.fullmatch(source.pattern, topic) is not None
    return topic in source.topics


def _range_of(
    source: str, where: Sequence[TopicPartition], times: TimeRange, cluster: Cluster
) -> SourceRange:
    latest = _positions(cluster, where, LATEST)
    earliest = _positions(cluster, where, EARLIEST)
    first = _positions(cluster, where, times.from_ms)
    beyond = _positions(cluster, where, times.to_ms)
    start: Offsets = {}
    end: Offsets = {}
    for each in where:
        # -1: no record is that young
        begins = first[each] if first[each] >= 0 else latest[each]
        ends = beyond[each] if beyond[each] >= 0 else latest[each]
        begins = max(begins, earliest[each])
        start.setdefault(each.topic, {})[each.partition] = begins
        end.setdefault(each.topic, {})[each.partition] = max(ends, begins)
    return SourceRange(source=source, start=start, end=end)


def _positions(cluster: Cluster, where: Sequence[TopicPartition], at: int) -> Mapping[TopicPartition, int]:
    return {each: found.offset for each, found in cluster.list_offsets(dict.fromkeys(where, at)).items()}


# -- writing


def backfill(
    spark: SparkSession,
    pipeline: Pipeline,
    queries: Sequence[PlannedQuery],
    times: TimeRange,
    ranges: Mapping[str, SourceRange],
    *,
    again: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Backfilled]:
    """Write the range to each output, one after the other; a PipelineError tells what does not compile."""
    starts = {name: each.start for name, each in ranges.items()}
    ends = {name: each.end for name, each in ranges.items()}
    done = Done(state_directory(pipeline))
    results: list[Backfilled] = []
    try:
        needed = _only(pipeline, ranges)
        compiled = compile_frames(spark, needed, read_ranges(spark, needed, starts, ends))
        for query in queries:
            key = f"{query.key} {times.from_ms} {times.to_ms}"
            was_done = key in done.known and not again
            if not was_done:
                tell(f"writing {query.name}")
                frame, sink, mode = written(pipeline, compiled, query)
                writer = frame.write.format(sink.format).options(**sink.options)
                if query.output is not None and isinstance(query.output.target, TableTarget):
                    writer = writer.options(**_table_batch(pipeline, key, again=again))
                writer.mode("overwrite" if mode == "complete" else "append").save()
                done.add(key)
            results.append(Backfilled(query=query.name, was_done=was_done))
    except CompileError as error:
        raise PipelineError(pipeline.path or pipeline.name, [error.problem]) from error
    return results


def _only(pipeline: Pipeline, ranges: Mapping[str, SourceRange]) -> Pipeline:
    """The pipeline without the topics that are not read, and without the steps that would read them."""
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


def _table_batch(pipeline: Pipeline, key: str, *, again: bool) -> dict[str, str]:
    """Names the transaction after the range, so that a backfill that died after it is not repeated."""
    query_id = f"backfill {pipeline.name} {key}" + (f" {time.time_ns()}" if again else "")
    return {"query_id": query_id, "batch_id": "0"}


class Done:
    """Which backfills were done: `backfills.json`."""

    __slots__ = ("_path", "known")

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, DONE_FILE)
        self.known: dict[str, int] = {}
        try:
            with open(self._path, encoding="utf-8") as file:
                self.known = json.load(file)
        except FileNotFoundError:
            os.makedirs(directory, exist_ok=True)

    def add(self, key: str) -> None:
        self.known[key] = time.time_ns() // 1_000_000
        aside = f"{self._path}.tmp"
        with open(aside, "w", encoding="utf-8") as file:
            json.dump(self.known, file, indent=2)
        os.replace(aside, self._path)
