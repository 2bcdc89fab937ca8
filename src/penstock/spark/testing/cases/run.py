"""Runs cases: each has a broker and a directory of its own, and all share one Spark session."""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping

import pyarrow as pa
from msgspec.structs import replace
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.lake.formats import TABLE_FORMATS
from penstock.spark.pipeline.core.model import Pipeline, Restart, Source, TableSource, TopicSource
from penstock.spark.pipeline.core.problems import PipelineError
from penstock.spark.pipeline.core.queries import checkpoint_root
from penstock.spark.pipeline.load import load
from penstock.spark.pipeline.outputs import TopicTarget
from penstock.spark.pipeline.run.runner import RunResult
from penstock.spark.testing.cases.kills import CommitBlocks
from penstock.spark.testing.cases.model import (
    KILL,
    STOP,
    Case,
    CaseFile,
    CaseResult,
    CaseStep,
    ExpectedOutput,
    Failure,
    GivenRecord,
    GivenSource,
)
from penstock.spark.testing.cases.rows import WrittenRows
from penstock.spark.testing.compare import ActualRow, find_differences
from penstock.spark.testing.kit import PipelineKit, running_kit
from penstock.spark.testing.records import Record

_KILLS_MAX = 100  # runs of one step: each kills at least one query


def load_for_case(file: CaseFile, case: Case) -> Pipeline:
    """Load the pipeline with the variables of the case; a Python file finds them in `os.environ`."""
    before = dict(os.environ)
    os.environ.update(case.environment)
    try:
        return load(file.pipeline)
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_case(file: CaseFile, case: Case, spark: SparkSession) -> CaseResult:
    began_s = time.monotonic()
    try:
        pipeline = load_for_case(file, case)
        with running_kit(spark=spark) as kit, _spark_settings(spark, pipeline.spark):
            failures = _CaseRun(kit, pipeline, case).run()
    except PipelineError as error:
        failures = [Failure(message=str(error))]
    except Exception as error:  # noqa: BLE001 - the other cases continue
        failures = [Failure(message=f"{type(error).__name__}: {error}", line=case.line)]
    return CaseResult(
        path=file.path, case=case, duration_s=time.monotonic() - began_s, failures=tuple(failures)
    )


@contextlib.contextmanager
def _spark_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply the settings of a pipeline that can be changed while the session runs, except its numbers of tasks."""
    wanted = {
        name: value
        for name, value in settings.items()
        if spark.conf.isModifiable(name) and name != "spark.sql.shuffle.partitions"
    }
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value_before in before.items():
            if value_before is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value_before)


class _CaseRun:
    def __init__(self, kit: PipelineKit, pipeline: Pipeline, case: Case) -> None:
        self._kit = kit
        self._original = pipeline
        self._case = case
        self._pipeline = kit.isolated(pipeline)
        self._written = WrittenRows(kit, self._pipeline)
        self._broken: dict[tuple[str, str], int] = {}  # of this step

    def run(self) -> list[Failure]:
        """Run the steps until one differs: the next ones would differ because of it."""
        for source in self._original.sources:
            for topic in source.topics if isinstance(source, TopicSource) else ():
                self._create_topic(topic)
        for number, step in enumerate(self._case.steps, start=1):
            failures = self._run_step(step)
            if failures:
                where = f"step {number}: " if len(self._case.steps) > 1 else ""
                return [replace(each, message=where + each.message) for each in failures]
            self._written.advance()
        return []

    def _run_step(self, step: CaseStep) -> list[Failure]:
        for given in step.given:
            self._give(given)
        self._pipeline = self._kit.isolated(self._original)  # a table may be there now
        self._broken = {}
        reasons = self._run_pipeline(step.restart_after)
        if step.failure is None and reasons:
            return [
                Failure(message=f"query {name} failed: {reason}", line=step.line)
                for name, reason in reasons.items()
            ]
        failures = _failure_problems(step, reasons)
        for expected in step.outputs:
            output = next(each for each in self._pipeline.outputs if each.name == expected.name)
            failures += _compare(f"output {expected.name}", expected, self._written.of_output(output))
        failures += _compare("dead letters", step.dead_letters, self._written.dead_letters())
        for broken in step.broken:
            found = self._broken.get((broken.owner, broken.rule), 0)
            if found != broken.rows:
                message = f"{found} row(s) of {broken.owner} broke `{broken.rule}`, expected {broken.rows}"
                failures.append(Failure(message=message, line=broken.line))
        return failures

    # -- given

    def _give(self, given: GivenSource) -> None:
        source = self._source(given)
        if isinstance(source, TableSource):
            self._write_rows(source, given)
            return
        by_topic: dict[str, list[Record]] = {}
        for each in given.records:
            by_topic.setdefault(_topic_of(each, source), []).append(each.record)
        for topic, records in by_topic.items():
            self._create_topic(topic)
            self._kit.feed(topic, records)
            self._written.skip(topic)

    def _source(self, given: GivenSource) -> Source:
        return next(each for each in self._original.sources if each.name == given.name)

    def _create_topic(self, topic: str) -> None:
        """Create a topic that is read with the partitions that an output of the pipeline, or the case, wants."""
        targets = [each.target for each in self._pipeline.outputs if isinstance(each.target, TopicTarget)]
        given = [
            (each.record.partition or 0) + 1
            for step in self._case.steps
            for place in step.given
            for each in place.records
            if _topic_of(each, self._source(place)) == topic
        ]
        wanted = [each.partitions or 1 for each in targets if each.topic == topic]
        self._kit.create_topic(topic, max([1, *wanted, *given]))

    def _write_rows(self, source: TableSource, given: GivenSource) -> None:
        """Add rows to a table, with Spark, which knows all formats that a source may have."""
        if given.schema:
            texts = self._kit.spark.createDataFrame([(json.dumps(row),) for row in given.rows], "row STRING")
            frame = texts.select(F.from_json("row", given.schema).alias("row")).select("row.*")
        else:
            frame = self._kit.spark.createDataFrame(pa.Table.from_pylist([dict(row) for row in given.rows]))
        is_ours = source.format in TABLE_FORMATS
        writer = frame.coalesce(1).write.format("penstock_lake" if is_ours else source.format).mode("append")
        options = {"table_format": source.format} if is_ours else source.options
        writer.options(**options).save(self._kit.path(source.path))

    # -- runs

    def _run_pipeline(self, restart_after: str | None) -> dict[str, str]:
        """Run to the end of the records, killed and restarted as the step says; return why queries failed."""
        if restart_after == KILL:
            return self._run_killed()
        if restart_after == STOP:
            first = self._run_once(self._pipeline)
            if first.given_up:
                return first.given_up
        return self._run_once(self._pipeline).given_up

    def _run_killed(self) -> dict[str, str]:
        """Kill each query once that has something to read, which may be what a killed one writes when it continues."""
        fragile = replace(self._pipeline, restart=Restart(attempts=0))
        blocks = CommitBlocks(checkpoint_root(self._pipeline))
        killed = 0
        try:
            for _ in range(_KILLS_MAX):
                with blocks.blocking_new():
                    result = self._run_once(fragile)
                now = blocks.unblock_killed()
                killed += now
                if not now:
                    break
                assert result.given_up, "a query committed a batch whose commit was blocked"
        finally:
            blocks.unblock_all()
        assert killed, "`restart_after: kill` killed no query: the step gives them nothing to read"
        return self._run_once(self._pipeline).given_up if result.given_up else {}

    def _run_once(self, pipeline: Pipeline) -> RunResult:
        result = self._kit.run_isolated(pipeline)
        counts: dict[tuple[str, str], int] = {}
        for query in result.status.queries:
            for owner, rules in query.broken.items():
                for rule, rows in rules.items():  # every query that reads the owner counts the same rows
                    counts[owner, rule] = max(rows, counts.get((owner, rule), 0))
        for place, rows in counts.items():
            self._broken[place] = self._broken.get(place, 0) + rows
        return result


def _topic_of(given: GivenRecord, source: Source) -> str:
    assert isinstance(source, TopicSource), source
    return given.topic or source.topics[0]


def _failure_problems(step: CaseStep, reasons: Mapping[str, str]) -> list[Failure]:
    if step.failure is None or any(step.failure in reason for reason in reasons.values()):
        return []
    found = "; ".join(reasons.values()) or "every query reached the end"
    return [Failure(message=f"no query failed with `{step.failure}`: {found}", line=step.line)]


def _compare(what: str, expected: ExpectedOutput, actual: list[ActualRow]) -> list[Failure]:
    differences = [] if expected.rows is None else find_differences(actual, expected.rows)
    if expected.count is not None and expected.count != len(actual):
        differences.append(f"{len(actual)} row(s), expected {expected.count}")
    if not differences:
        return []
    return [Failure(message="\n".join([what, *(f"  {each}" for each in differences)]), line=expected.line)]
