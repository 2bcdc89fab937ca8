"""Moves a pipeline to the broker and the directory of a test, so that it reaches nothing else. No I/O except `exists`.

The pipeline is built anew from what decides about its rows. Settings that connect it to anything else, such as
credentials, are left out, also those that are added to the model later.
"""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from penstock.spark.lake.formats import ICEBERG
from penstock.spark.lake.options import is_known_option
from penstock.spark.pipeline.compile.sources import is_lake_table
from penstock.spark.pipeline.core.model import (
    NO_HISTORY,
    Output,
    Pipeline,
    Restart,
    Source,
    TableSource,
    TopicSource,
)
from penstock.spark.pipeline.outputs import ConsoleTarget, TableTarget, TopicTarget

_ISOLATION_LEVEL = "isolation.level"
# Spark allows a Python source ten seconds to start, which a busy machine may miss.
_RESTART = Restart(attempts=1, backoff_ms=100)


def isolated(pipeline: Pipeline, bootstrap_servers: str, directory: str) -> Pipeline:
    """Return the pipeline as it runs in a test.

    It reads and writes all topics on the given broker, from their beginning. A relative path is below `directory`
    instead of beside the file, except a table source that exists beside the file, which is read where it is. An
    output to the console is the topic `console_topic`, so that its rows can be compared.
    """
    return Pipeline(
        line=pipeline.line,
        name=pipeline.name,
        bootstrap_servers=bootstrap_servers,
        checkpoints=os.path.join(directory, "checkpoints", pipeline.name),
        dead_letter_topic=pipeline.dead_letter_topic,
        trigger_ms=pipeline.trigger_ms,
        kafka={name: value for name, value in pipeline.kafka.items() if _ISOLATION_LEVEL in name},
        sources=tuple(_source(source, pipeline, directory) for source in pipeline.sources),
        steps=pipeline.steps,
        outputs=tuple(_output(output, directory) for output in pipeline.outputs),
        restart=_RESTART,
        history_topic=NO_HISTORY,
        directory=pipeline.directory,
        path=pipeline.path,
    )


def table_path(path: str, directory: str) -> str:
    """Return where a test keeps a table: a relative path below the directory, all others below `elsewhere` in it."""
    if "://" in path or os.path.isabs(path):
        path = os.path.join("elsewhere", *[part for part in path.replace(":", "").split("/") if part])
    return os.path.join(directory, os.path.relpath(os.path.join("/", path), "/"))  # `..` does not leave it


def console_topic(output: str) -> str:
    return f"console.{output}"


def _output(output: Output, directory: str) -> Output:
    target = output.target
    if isinstance(target, TableTarget):
        return replace(output, target=_table_target(target, directory))
    if isinstance(target, ConsoleTarget):
        return replace(output, target=TopicTarget(line=target.line, topic=console_topic(output.name)))
    return output


def _table_target(target: TableTarget, directory: str) -> TableTarget:
    return replace(
        target,
        path=table_path(target.path, directory),
        format=target.table_format,
        catalog={},
        options={},
        maintain=None,
    )


def _source(source: Source, pipeline: Pipeline, directory: str) -> Source:
    if isinstance(source, TopicSource):
        starting = "earliest" if source.starting == "latest" or "{" in source.starting else source.starting
        return replace(source, starting=starting, options=_harmless(source.options))
    local = _without_store(source)
    moved = table_path(source.path, directory)
    is_beside = not source.catalog and os.path.exists(pipeline.resolve(source.path))
    return local if is_beside and not os.path.exists(moved) else replace(local, path=moved)


def _without_store(source: TableSource) -> TableSource:
    options = source.options
    if is_lake_table(source):
        options = {name: text for name, text in options.items() if is_known_option(name)}
    table_format = ICEBERG if source.catalog else source.format
    return replace(source, format=table_format, catalog={}, options=options)


def _harmless(options: Mapping[str, str]) -> dict[str, str]:
    """Remove options that connect a source to another broker."""
    return {
        name: value
        for name, value in options.items()
        if not name.lower().startswith("kafka.") or _ISOLATION_LEVEL in name
    }
