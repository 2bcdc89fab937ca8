"""Runs a pipeline: one Spark application, a streaming query for each output and for each place with dead letters.

    0  everything was read (`once`), or a stop was asked for
    1  a query was given up, or the pipeline could not be started

A stop lets each query finish the batch that it is in.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
from pyspark.sql import SparkSession

from penstock.client.blocking.cluster import Cluster
from penstock.client.connection import Disconnected
from penstock.client.errors import ClientError
from penstock.spark.pipeline.compile import Compiled, compile_frames
from penstock.spark.pipeline.compile_errors import CompileError
from penstock.spark.pipeline.compile_outputs import frame_of
from penstock.spark.pipeline.compile_sources import read_streams
from penstock.spark.pipeline.model import Pipeline, StateStep
from penstock.spark.pipeline.problems import PipelineError, Problem
from penstock.spark.pipeline.progress_listener import ProgressListener
from penstock.spark.pipeline.progress_metrics import MetricsServer
from penstock.spark.pipeline.progress_monitor import Monitor
from penstock.spark.pipeline.progress_offsets import OffsetPublisher
from penstock.spark.pipeline.progress_reporter import Reporter
from penstock.spark.pipeline.progress_terminal import Display, make_display
from penstock.spark.pipeline.queries import PlannedQuery, plan_queries, rounds, state_directory
from penstock.spark.pipeline.run_queries import SparkStarter
from penstock.spark.pipeline.run_supervisor import Supervisor
from penstock.spark.pipeline.run_topics import client_settings, prepare_topics
from penstock.spark.pipeline.status import RunStatus, run_lock
from penstock.spark.session import start_session

_LOOK_INTERVAL_S = 0.2
_MASTER = "spark.master"
_MASTER_DEFAULT = "local[*]"

# transformWithState keeps its state in RocksDB and nowhere else.
_STATE_STORE = (
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
    metrics_port: int | None = None,
    quiet: bool = False,
    display: Display | None = None,
    stopping: threading.Event | None = None,
) -> RunResult:
    """Run until everything is read (`once`), or until `stopping` is set. Raises PipelineError before it starts.

    Without `spark` a session is started for the run and stopped after it.
    """
    queries = plan_queries(pipeline)
    stopping = stopping or threading.Event()
    display = display or make_display(sys.stderr, quiet=quiet)
    directory = state_directory(pipeline)
    try:
        with run_lock(directory, pipeline.name):
            _prepare(pipeline, queries)
            opened = (
                contextlib.nullcontext(spark)
                if spark is not None
                else session_for(
                    pipeline, master=master, remote=remote, is_short_run=once, show_logs=show_spark_logs
                )
            )
            with opened as session:
                return _run_in(
                    session,
                    pipeline,
                    queries,
                    once=once,
                    display=display,
                    stopping=stopping,
                    directory=directory,
                    metrics_port=metrics_port,
                )
    finally:
        display.close()


@contextlib.contextmanager
def session_for(
    pipeline: Pipeline, *, master: str | None, remote: str | None, is_short_run: bool, show_logs: bool
) -> Iterator[SparkSession]:
    """A session with the settings of the file, stopped in the end. A `master` that is given wins over the file's."""
    settings = dict(pipeline.spark)
    master = master or settings.get(_MASTER, _MASTER_DEFAULT)
    settings.pop(_MASTER, None)
    handler = signal.getsignal(signal.SIGINT)
    session = start_session(
        f"penstock {pipeline.name}",
        master=master,
        remote=remote,
        settings={**_settings_on(master, remote), **settings},
        is_short_run=is_short_run,
        show_logs=show_logs,
    )
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)  # PySpark takes Ctrl-C for itself: it cancels all jobs
    try:
        yield session
    finally:
        session.stop()


def _settings_on(master: str, remote: str | None) -> dict[str, str]:
    """Spark's 200 partitions of a shuffle are for clusters: on one machine they cost seconds for every batch."""
    if remote is None and master.startswith("local"):
        return {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)}
    return {}


def compile_streams(spark: SparkSession, pipeline: Pipeline) -> Compiled:
    """The graph over the real topics, outputs included; what is wrong with it is a PipelineError."""
    try:
        if any(isinstance(step.operation, StateStep) for step in pipeline.steps):
            spark.conf.set(*_STATE_STORE)
        compiled = compile_frames(spark, pipeline, read_streams(spark, pipeline))
        for output in pipeline.outputs:
            frame_of(output, compiled.frames[output.input])
    except CompileError as error:
        raise PipelineError(file_of(pipeline), [error.problem]) from error
    return compiled


def file_of(pipeline: Pipeline) -> str:
    return pipeline.path or pipeline.name


def _prepare(pipeline: Pipeline, queries: Sequence[PlannedQuery]) -> None:
    """The topics, before a JVM is started for nothing."""
    cluster = Cluster(client_settings(pipeline))
    try:
        problems = prepare_topics(pipeline, queries, cluster)
    except (ClientError, Disconnected) as error:
        reason = f"the brokers at {pipeline.bootstrap_servers} cannot be asked for their topics: {error}"
        raise PipelineError(file_of(pipeline), [Problem(message=reason)]) from None
    finally:
        cluster.close()
    if problems:
        raise PipelineError(file_of(pipeline), problems)


def _run_in(
    spark: SparkSession,
    pipeline: Pipeline,
    queries: Sequence[PlannedQuery],
    *,
    once: bool,
    display: Display,
    stopping: threading.Event,
    directory: str,
    metrics_port: int | None,
) -> RunResult:
    # Spark finds Python sinks through the session that is active in this thread; to make a frame makes it so.
    spark.createDataFrame([], "nothing INT")
    starter = SparkStarter(pipeline, compile_streams(spark, pipeline), once=once)
    monitor = Monitor(query.name for query in queries)
    supervisor = Supervisor(
        start=starter,
        restart=pipeline.restart,
        monitor=monitor,
        tell=display.tell,
        stopping=stopping,
        now_ms=_now_ms,
        pause=lambda: time.sleep(_LOOK_INTERVAL_S),
    )
    publisher = OffsetPublisher(client_settings(pipeline), display.tell)
    reporter = Reporter(
        monitor=monitor,
        display=display,
        directory=directory,
        pipeline=pipeline.name,
        file=pipeline.path,
        groups={query.name: query.group for query in queries},
        publish=publisher.publish,
        now_ms=_now_ms,
    )
    listener = ProgressListener(monitor)
    spark.streams.addListener(listener)
    close_metrics = _serve_metrics(metrics_port, reporter)
    try:
        if once:
            supervisor.run_once(rounds(queries))
        else:
            supervisor.run(queries)
    finally:
        spark.streams.removeListener(listener)
        close_metrics()
        status = reporter.close(1 if supervisor.given_up else 0)
        publisher.close()
    return RunResult(status=status, given_up=supervisor.given_up)


def _serve_metrics(port: int | None, reporter: Reporter) -> Callable[[], None]:
    if port is None:
        return lambda: None
    return MetricsServer(port, reporter.status).close


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
