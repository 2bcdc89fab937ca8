"""What the commands about pipelines share: their options, loading the file, and their errors."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from penstock.cli.errors import EXIT_FAILED, CommandError, UsageError, one_line
from penstock.distribution import pip_install

if TYPE_CHECKING:
    from penstock.client.blocking.client import BlockingClient
    from penstock.spark.pipeline.core.model import Pipeline

# Raised by modules that need Spark, which may not be installed: by their names.
_EXPECTED_ERRORS = (
    "AlreadyRunning",
    "CheckpointOwnerMismatch",
    "SparkDidNotStart",
    "JavaNotFound",
    "TableError",
)

PipelineFile: str = typer.Argument(metavar="FILE", help="The pipeline: a YAML file, or a Python file.")
Server: str | None = typer.Option(
    None,
    "--bootstrap-server",
    "-b",
    metavar="HOST:PORT",
    show_default="that of the file",
    help="Connect to this broker of the cluster.",
)
Master: str | None = typer.Option(
    None,
    "--master",
    metavar="URL",
    show_default="spark.master in the file, or local[*]",
    help="Run on this Spark cluster.",
)
Remote: str | None = typer.Option(
    None, "--remote", metavar="sc://HOST:PORT", help="Run on this Spark Connect server, instead of --master."
)
SparkLogs: bool = typer.Option(False, "--spark-logs", help="Print Spark's own log lines.")


def load_pipeline(file: str, server: str | None = None) -> "Pipeline":
    import msgspec

    from penstock.spark.pipeline.load import load

    pipeline = load(file)
    return msgspec.structs.replace(pipeline, bootstrap_servers=server) if server else pipeline


@contextlib.contextmanager
def connected(pipeline: "Pipeline") -> "Iterator[BlockingClient]":
    """Connect to the brokers of a pipeline; fail at once where the client would retry for a minute."""
    from penstock.cli.connect.target import check_reachable
    from penstock.client.blocking.client import BlockingClient
    from penstock.spark.pipeline.run.topics import client_settings

    check_reachable(pipeline.bootstrap_servers)
    with contextlib.closing(BlockingClient(client_settings(pipeline))) as cluster:
        yield cluster


@contextlib.contextmanager
def pipeline_errors() -> Iterator[None]:
    """Turn errors of a pipeline, its broker or Spark into the error of the command."""
    try:
        from penstock.client.connection import Disconnected
        from penstock.client.errors import ClientError
        from penstock.spark.pipeline.core.problems import PipelineError

        try:
            yield
        except PipelineError as error:
            print(error, file=sys.stderr)
            raise typer.Exit(EXIT_FAILED) from None
        except ValueError as error:
            raise UsageError(one_line(str(error))) from None
        except (ClientError, Disconnected) as error:
            raise CommandError(one_line(str(error))) from None
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("penstock"):
            raise
        install = pip_install("spark", "jre")
        raise CommandError(f"pipelines need {error.name}: install it with `{install}`") from None
    except Exception as error:
        if type(error).__name__ in _EXPECTED_ERRORS:
            raise CommandError(one_line(str(error))) from None
        raise
