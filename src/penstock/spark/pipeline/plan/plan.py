"""Makes the plan of a pipeline: all findings about all of its queries."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from pyspark.sql import SparkSession

from penstock.client.blocking.client import BlockingClient
from penstock.spark.pipeline.compile.frames import Compiled, compile_frames
from penstock.spark.pipeline.compile.sources import read_streams
from penstock.spark.pipeline.core.model import Pipeline
from penstock.spark.pipeline.core.queries import PlannedQuery, plan_queries, state_directory
from penstock.spark.pipeline.plan.checkpoints import (
    Checkpoint,
    keys_with_checkpoint,
    local_root,
    read_checkpoint,
)
from penstock.spark.pipeline.plan.compare import compare_query
from penstock.spark.pipeline.plan.describe import describe_queries
from penstock.spark.pipeline.plan.findings import Finding, Verdict, Ways
from penstock.spark.pipeline.plan.record import QueryRecord, Recorded, merged, read_recorded, write_recorded
from penstock.spark.pipeline.plan.tables import table_findings
from penstock.spark.pipeline.plan.topics import TopicState, fetch_topics, topic_findings


def ways_out(pipeline: Pipeline, query: PlannedQuery) -> Ways:
    line = query.output.line if query.output is not None else 0
    return Ways(file=pipeline.file, key=query.key, line=line)


def has_checkpoints(pipeline: Pipeline) -> bool:
    root = local_root(pipeline)
    return root is not None and bool(keys_with_checkpoint(root))


def make_plan(pipeline: Pipeline, spark: SparkSession, cluster: BlockingClient | None) -> list[Finding]:
    """Compare everything; without a cluster all but the topics. Raises PipelineError if the file does not compile."""
    compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline))
    compiled.raise_problems(pipeline)
    root = local_root(pipeline)
    if root is None:
        message = "its checkpoint is not on this machine, so neither state nor offsets were compared"
        return [ways_out(pipeline, query).goes_on(message) for query in plan_queries(pipeline)]
    found = {key: read_checkpoint(root, key) for key in keys_with_checkpoint(root)}
    checkpoints = {key: each for key, each in found.items() if each is not None}
    comparison = _Comparison(
        pipeline=pipeline,
        compiled=compiled,
        root=root,
        recorded=read_recorded(state_directory(pipeline)),
        records={each.key: each for each in describe_queries(pipeline, plan_queries(pipeline), compiled)},
        checkpoints=checkpoints,
        topics=None if cluster is None else fetch_topics(cluster, checkpoints),
    )
    return list(comparison.findings())


class _Comparison(msgspec.Struct, frozen=True, kw_only=True):
    pipeline: Pipeline
    compiled: Compiled
    root: str
    recorded: Recorded
    records: Mapping[str, QueryRecord]
    checkpoints: Mapping[str, Checkpoint]
    topics: TopicState | None

    def findings(self) -> Iterator[Finding]:
        queries = plan_queries(self.pipeline)
        for query in queries:
            ways = ways_out(self.pipeline, query)
            found = [*self._history_findings(query, ways), *self._table_findings(query, ways)]
            yield from found or [ways.goes_on("nothing has changed")]
        keys = {query.key for query in queries}
        for key in self._left_behind(keys):
            if key not in self.checkpoints or self._successor(key) is not None:
                continue
            yield Finding(
                query=key,
                verdict=Verdict.GOES_ON,
                message=f"the file no longer has it; its checkpoint {self.root}/{key} is kept",
                advice=("remove the directory if it will not come back",),
            )

    def _history_findings(self, query: PlannedQuery, ways: Ways) -> Iterator[Finding]:
        checkpoint, old = self.checkpoints.get(query.key), self.recorded.queries.get(query.key)
        if checkpoint is None:
            yield self._start_finding(query, ways)
            return
        if old is None:
            yield ways.goes_on("no run has recorded what it was, so only its topics and tables were compared")
        else:
            yield from compare_query(old, self.records[query.key], ways)
        if self.topics is not None:
            yield from topic_findings(checkpoint, self.topics, self.records[query.key].sources, ways)

    def _start_finding(self, query: PlannedQuery, ways: Ways) -> Finding:
        before = next(
            (key for key in self._left_behind(self.records) if self._successor(key) == query.key), None
        )
        if before is None:
            starts = ", ".join(f"{source.name} from {source.starting}" for source in query.reads)
            return ways.goes_on(f"it has no checkpoint and starts anew: {starts}")
        old, new = f"{self.root}/{before}", f"{self.root}/{query.key}"
        return ways.needs_change(
            f"it is what `{before}` was. Under the new name it has no checkpoint, so it would write everything again",
            f"keep the name `{before}`",
            f"`mv {old} {new}` before the next run",
        )

    def _left_behind(self, keys: Sequence[str] | set[str] | Mapping[str, object]) -> list[str]:
        return [key for key in self.checkpoints if key not in keys and key in self.recorded.queries]

    def _successor(self, key: str) -> str | None:
        """Return the query without a checkpoint that does what this one did."""
        old = self.recorded.queries[key]
        for new in self.records.values():
            if new.key not in self.checkpoints and (new.target, new.columns, new.sources) == (
                old.target,
                old.columns,
                old.sources,
            ):
                return new.key
        return None

    def _table_findings(self, query: PlannedQuery, ways: Ways) -> Iterator[Finding]:
        if query.output is not None and query.output.name in self.compiled.outputs:
            frame = self.compiled.outputs[query.output.name]
            yield from table_findings(query.output.target.sink(self.pipeline), frame, ways)


# -- what a run does with it


def refused_queries(
    pipeline: Pipeline, queries: Sequence[PlannedQuery], compiled: Compiled, spark_version: str
) -> dict[str, str]:
    """Return the queries whose state cannot go on, with the reason; record the others as what now runs."""
    directory, root = state_directory(pipeline), local_root(pipeline)
    recorded = read_recorded(directory)
    with_checkpoint = set(keys_with_checkpoint(root)) if root is not None else set(recorded.queries)
    refused: dict[str, str] = {}
    records = {each.key: each for each in describe_queries(pipeline, queries, compiled)}
    for query in queries:
        old, new = recorded.queries.get(query.key), records.get(query.key)
        if old is None or new is None or query.key not in with_checkpoint:
            continue
        for finding in compare_query(old, new, ways_out(pipeline, query)):
            if finding.verdict is Verdict.CANNOT_GO_ON:
                refused.setdefault(query.key, finding.problem.message)
    started = [each for key, each in records.items() if key not in refused]
    write_recorded(directory, merged(recorded, spark_version, started, with_checkpoint))
    return refused


def accept(pipeline: Pipeline, spark: SparkSession, key: str) -> None:
    """Record the query of the file as what has run: the user knows that its state fits."""
    compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline))
    compiled.raise_problems(pipeline)
    records = [
        each for each in describe_queries(pipeline, plan_queries(pipeline), compiled) if each.key == key
    ]
    if not records:
        known = ", ".join(query.key for query in plan_queries(pipeline))
        raise ValueError(f"the pipeline has no query `{key}`: it has {known}")
    recorded = read_recorded(state_directory(pipeline))
    write_recorded(state_directory(pipeline), merged(recorded, spark.version, records, recorded.queries))
