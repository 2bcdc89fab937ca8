"""Runs a pipeline: one Spark application, with a streaming query for each group of outputs (`core.queries`).

    0  all records were read (`once`), or a stop was requested
    1  a query failed permanently, or the pipeline could not be started

On a stop each query finishes its current batch.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from pyspark.sql import SparkSession

from penstock.client.blocking.client import BlockingClient
from penstock.client.connection import Disconnected
from penstock.client.errors import ClientError
from penstock.events import now_ms
from penstock.spark.lake.errors import TableError
from penstock.spark.pipeline.compile.columns import with_columns
from penstock.spark.pipeline.compile.frames import Compiled, compile_frames
from penstock.spark.pipeline.compile.sharing import sources_to_share
from penstock.spark.pipeline.compile.sources import read_streams
from penstock.spark.pipeline.compile.steps import is_remote
from penstock.spark.pipeline.core.model import Pipeline, StateStep
from penstock.spark.pipeline.core.problems import PipelineError, Problem
from penstock.spark.pipeline.core.queries import (
    PlannedQuery,
    QueryGroup,
    group_queries,
    plan_queries,
    plan_rounds,
    state_directory,
)
from penstock.spark.pipeline.plan.plan import refused_queries
from penstock.spark.pipeline.plan.reset import pending_resets, started_at
from penstock.spark.pipeline.progress.group_offsets import OffsetPublisher
from penstock.spark.pipeline.progress.metrics import MetricsAddress, MetricsServer
from penstock.spark.pipeline.progress.monitor import Monitor
from penstock.spark.pipeline.progress.reporter import Reporter, write_starting
from penstock.spark.pipeline.progress.status import RunStatus, run_lock
from penstock.spark.pipeline.progress.terminal import Display, make_display
from penstock.spark.pipeline.run.checkpoint_copy import CheckpointTaken
from penstock.spark.pipeline.run.checkpoint_store import CheckpointStore
from penstock.spark.pipeline.run.maintenance import TableMaintenance
from penstock.spark.pipeline.run.observers import Observers
from penstock.spark.pipeline.run.sample import read_samples
from penstock.spark.pipeline.run.spark import ProgressListener, SparkStarter
from penstock.spark.pipeline.run.supervisor import (
    CannotStart,
    OnOutputFailure,
    RunningQuery,
    Starter,
    Supervisor,
)
from penstock.spark.pipeline.run.tables import checkpoint_problems, refused_tables
from penstock.spark.pipeline.run.topics import client_settings, prepare_topics
from penstock.spark.session import start_session

_POLL_INTERVAL_S = 0.2
_MASTER_SETTING = "spark.master"
_MASTER_DEFAULT = "local[*]"

# transformWithState requires RocksDB.
_STATE_STORE_SETTING = (
    "spark.sql.streaming.stateStore.providerClass",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
)


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    status: RunStatus
    given_up: dict[str, str]  # query -> reason

    @property
    def exit_code(self) -> int:
        return 1 if self.given_up else 0


def run(
    pipeline: Pipeline,
    *,
    once: bool = False,
    spark: SparkSession | None = None,
    master: str | None = None,
    remote: str | None = None,
    show_spark_logs: bool = False,
    metrics_address: MetricsAddress | None = None,
    quiet: bool = False,
    display: Display | None = None,
    stopping: threading.Event | None = None,
) -> RunResult:
    """Run until all records are read (`once`), or until `stopping` is set. Raises PipelineError if it cannot start.

    Without `spark` a session is started for the run and stopped after it.
    """
    stopping = stopping or threading.Event()
    display = display or make_display(sys.stderr, quiet=quiet)
    with contextlib.ExitStack() as closing:
        closing.callback(display.close)
        closing.enter_context(run_lock(state_directory(pipeline), pipeline.name))
        if unusable := list(checkpoint_problems(pipeline)):
            raise PipelineError(pipeline.file, unusable)
        queries = plan_queries(pipeline)
        _prepare_topics(pipeline, queries)
        names = [query.name for query in queries]
        write_starting(state_directory(pipeline), pipeline, names, now_ms())
        session = spark or closing.enter_context(
            session_for(pipeline, master=master, remote=remote, is_short_run=once, show_logs=show_spark_logs)
        )
        return _run_in(
            session,
            pipeline,
            once=once,
            display=display,
            stopping=stopping,
            metrics_address=metrics_address,
        )


@contextlib.contextmanager
def session_for(
    pipeline: Pipeline, *, master: str | None, remote: str | None, is_short_run: bool, show_logs: bool
) -> Iterator[SparkSession]:
    """Start a session with the settings of the file, and stop it at the end. `master` overrides the file's."""
    settings = dict(pipeline.spark)
    master = master or settings.get(_MASTER_SETTING, _MASTER_DEFAULT)
    settings.pop(_MASTER_SETTING, None)
    handler = signal.getsignal(signal.SIGINT)
    session = start_session(
        f"penstock {pipeline.name}",
        master=master,
        remote=remote,
        settings={**_shuffle_settings(master, remote), **settings},
        is_short_run=is_short_run,
        show_logs=show_logs,
    )
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)  # PySpark's own handler would cancel all jobs
    try:
        yield session
    finally:
        session.stop()


def _shuffle_settings(master: str, remote: str | None) -> dict[str, str]:
    """Lower Spark's default of 200 shuffle partitions, which costs seconds for every batch on one machine."""
    if remote is None and master.startswith("local"):
        return {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)}
    return {}


def compile_streams(spark: SparkSession, pipeline: Pipeline) -> Compiled:
    """Compile the graph over the real topics, with its outputs, or raise PipelineError."""
    if any(isinstance(step.operation, StateStep) for step in pipeline.steps):
        spark.conf.set(*_STATE_STORE_SETTING)
    compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline))
    compiled.raise_problems(pipeline)
    return compiled


def _refusing(start: Starter, refused: Mapping[str, str]) -> Starter:
    """Refuse queries whose state is not that of the file, which Spark does not always notice, or without a table.

    They share no reads, so each is a group of its own.
    """

    def start_unless_refused(group: QueryGroup, on_output_failure: OnOutputFailure) -> RunningQuery:
        if group.key in refused:
            raise CannotStart(refused[group.key])
        return start(group, on_output_failure)

    return start_unless_refused


def _close_checkpoints(checkpoints: CheckpointStore, display: Display) -> None:
    try:
        checkpoints.close()
    except (CheckpointTaken, TableError) as error:
        display.print(f"cannot store the end of the last batches, which the next run will replay: {error}")


def _prepare_topics(pipeline: Pipeline, queries: Sequence[PlannedQuery]) -> None:
    """Check and create the topics before a JVM is started."""
    cluster = BlockingClient(client_settings(pipeline))
    try:
        problems = prepare_topics(pipeline, queries, cluster)
    except (ClientError, Disconnected) as error:
        reason = f"cannot list the topics of the brokers at {pipeline.bootstrap_servers}: {error}"
        raise PipelineError(pipeline.file, [Problem(message=reason)]) from None
    finally:
        cluster.close()
    if problems:
        raise PipelineError(pipeline.file, problems)


def _run_in(
    spark: SparkSession,
    pipeline: Pipeline,
    *,
    once: bool,
    display: Display,
    stopping: threading.Event,
    metrics_address: MetricsAddress | None,
) -> RunResult:
    # Spark finds Python sinks through the active session of this thread; creating a frame activates it.
    spark.createDataFrame([], "nothing INT")
    for output in pipeline.outputs:
        if output.target.is_for_each_topic and is_remote(spark):
            reason = (
                f"output {output.name}: `for_each_topic` does not work over Spark Connect: run on a master"
            )
            raise PipelineError(pipeline.file, [Problem(message=reason, line=output.line)])
    pipeline = with_columns(pipeline, read_samples(spark, pipeline))
    queries = plan_queries(pipeline)
    compiled = compile_streams(spark, pipeline)
    changed = refused_queries(pipeline, queries, compiled, spark.version)
    refused = {**changed, **refused_tables(pipeline)}
    sources = {} if is_remote(spark) else sources_to_share(pipeline, queries, compiled)
    sources = {key: source for key, source in sources.items() if key not in refused}
    groups = group_queries(pipeline, queries, sources)
    resets = pending_resets(pipeline, queries)
    alone = {group.key for group in groups if not group.shared_source}
    frames = {
        key: compile_streams(spark, started_at(pipeline, to)) for key, to in resets.items() if key in alone
    }
    checkpoints = CheckpointStore(spark, pipeline)
    starter = SparkStarter(
        spark, pipeline, compiled, checkpoints, once=once, resets=resets, reset_frames=frames
    )
    monitor = Monitor(query.name for query in queries)
    supervisor = Supervisor(
        start=_refusing(starter, refused),
        restart=pipeline.restart,
        monitor=monitor,
        report=display.print,
        stopping=stopping,
        now_ms=now_ms,
        pause=lambda: time.sleep(_POLL_INTERVAL_S),
    )
    starter.on_catch_up = monitor.record_catch_up
    observers = Observers(pipeline, queries, compiled, display.print)
    maintenance = TableMaintenance(pipeline, display.print, now_ms)
    publisher = OffsetPublisher(client_settings(pipeline), display.print)
    reporter = Reporter(
        monitor=monitor,
        display=display,
        directory=state_directory(pipeline),
        pipeline=pipeline,
        groups={query.name: query.group for query in queries},
        publish=publisher.publish,
        now_ms=now_ms,
        observers=observers.all,
        maintenance=maintenance.statuses,
    )
    listener = ProgressListener(monitor, starter.progress_of)
    spark.streams.addListener(listener)
    metrics: MetricsServer | None = None
    try:
        if metrics_address is not None:
            metrics = MetricsServer(metrics_address, reporter.status)
        if once:
            supervisor.run_once(plan_rounds(groups))
            maintenance.run_pass()
        else:
            maintenance.start()
            supervisor.run(groups)
    finally:
        spark.streams.removeListener(listener)
        maintenance.close()
        _close_checkpoints(checkpoints, display)
        if metrics is not None:
            metrics.close()
        status = reporter.close(1 if supervisor.given_up else 0)
        publisher.close()
        observers.close()
    return RunResult(status=status, given_up=supervisor.given_up)
