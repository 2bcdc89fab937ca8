"""Which streaming queries a pipeline is, and in which order `--once` runs them. Pure.

Each output is a query, and so is each source or step that may reject rows: its query writes the dead letters. A query
is named `<pipeline>.<output>` or `<pipeline>.dead-letters.<source or step>`, and keeps its checkpoint under the part
after the pipeline's name. Dead letters have a query for each place that rejects, not one for all: Spark ties a
checkpoint to the sources of its query, and this way a source can be added to the file without losing the others'.

Queries may feed each other through topics. `rounds` puts a query after the ones that write what it reads; queries that
feed each other in a circle share a round, which is repeated until none of them reads anything more.
"""

import os
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from penstock.spark.pipeline.graph import upstream
from penstock.spark.pipeline.model import (
    Otherwise,
    Output,
    Pipeline,
    RawDecoder,
    Source,
    TopicSource,
    TopicTarget,
)

DEAD_LETTERS = "dead-letters"


class PlannedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One streaming query: what it reads, and what it writes."""

    key: str  # unique in the pipeline; the checkpoint's directory
    name: str  # as Spark and the user know it
    reads: tuple[TopicSource, ...]
    output: Output | None = None  # None: the dead letters of `rejecting`
    rejecting: str = ""
    writes_topic: str | None = None
    trigger_ms: int = 0

    @property
    def group(self) -> str:
        """The consumer group under which its consumed offsets are published."""
        return f"penstock-pipeline.{self.name}"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    queries: tuple[PlannedQuery, ...]
    repeats: bool = False  # its queries feed each other


def plan_queries(pipeline: Pipeline) -> tuple[PlannedQuery, ...]:
    """The queries of a pipeline: its outputs in the file's order, then its dead letters."""
    outputs = [_for_output(pipeline, output) for output in pipeline.outputs]
    needed = upstream(pipeline, (output.input for output in pipeline.outputs))
    rejecting = [name for name in _rejecting(pipeline) if name in needed]
    return (*outputs, *(_for_dead_letters(pipeline, name) for name in rejecting))


def dead_letter_topic(pipeline: Pipeline) -> str:
    return pipeline.dead_letter_topic or f"{pipeline.name}.dlq"


def _for_output(pipeline: Pipeline, output: Output) -> PlannedQuery:
    return PlannedQuery(
        key=output.name,
        name=f"{pipeline.name}.{output.name}",
        reads=_topics_of(pipeline, output.input),
        output=output,
        writes_topic=output.target.topic if isinstance(output.target, TopicTarget) else None,
        trigger_ms=pipeline.trigger_ms if output.trigger_ms is None else output.trigger_ms,
    )


def _for_dead_letters(pipeline: Pipeline, rejecting: str) -> PlannedQuery:
    key = f"{DEAD_LETTERS}.{rejecting}"
    return PlannedQuery(
        key=key,
        name=f"{pipeline.name}.{key}",
        reads=_topics_of(pipeline, rejecting),
        rejecting=rejecting,
        writes_topic=dead_letter_topic(pipeline),
        trigger_ms=pipeline.trigger_ms,
    )


def _topics_of(pipeline: Pipeline, name: str) -> tuple[TopicSource, ...]:
    names = upstream(pipeline, [name])
    return tuple(each for each in pipeline.sources if isinstance(each, TopicSource) and each.name in names)


def _rejecting(pipeline: Pipeline) -> list[str]:
    found = [source.name for source in pipeline.sources if _source_rejects(source)]
    return found + [
        step.name
        for step in pipeline.steps
        if any(each.otherwise is Otherwise.DEAD_LETTER for each in step.expectations)
    ]


def _source_rejects(source: Source) -> bool:
    """Bytes as they are need no decoding, so nothing can go wrong with them."""
    if not isinstance(source, TopicSource):
        return False
    decoder = source.decoder
    takes_all = isinstance(decoder, RawDecoder) and decoder.allow_null and not decoder.text
    return not takes_all or any(each.otherwise is Otherwise.DEAD_LETTER for each in source.expectations)


# -- the order of `--once`


def rounds(queries: Sequence[PlannedQuery]) -> tuple[Round, ...]:
    """Groups of queries, each after the groups that write what it reads."""
    feeds = {
        reader.key: {
            writer.key for writer in queries if any(may_read(source, writer) for source in reader.reads)
        }
        for reader in queries
    }
    reach = {key: _reached(key, feeds) for key in feeds}
    by_key = {query.key: query for query in queries}
    waiting, found = list(by_key), list[Round]()
    while waiting:
        ready = [key for key in waiting if not (reach[key] - _circle(key, reach)).intersection(waiting)]
        chosen = [key for key in ready if key not in reach[key]]
        repeats = not chosen
        if repeats:
            chosen = [key for key in ready if key in _circle(ready[0], reach)]
        found.append(Round(queries=tuple(by_key[key] for key in chosen), repeats=repeats))
        waiting = [key for key in waiting if key not in chosen]
    return tuple(found)


def may_read(source: TopicSource, writer: PlannedQuery) -> bool:
    """Whether what the query writes comes in again through the source."""
    if writer.writes_topic is None:
        return False
    if source.pattern is not None:
        return re.fullmatch(source.pattern, writer.writes_topic) is not None
    return writer.writes_topic in source.topics


def _reached(key: str, feeds: dict[str, set[str]]) -> set[str]:
    """All queries whose writing a query waits for, directly or not; itself when it is part of a circle."""
    waiting, seen = list(feeds[key]), set[str]()
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting.extend(feeds[each])
    return seen


def _circle(key: str, reach: dict[str, set[str]]) -> set[str]:
    """The queries that feed this one and are fed by it, itself among them; empty where it is in no circle."""
    return {other for other in reach[key] if key in reach[other]}


# -- where the state of a pipeline lies


def checkpoint_root(pipeline: Pipeline) -> str:
    """The directory or URL under which each query has its checkpoint."""
    chosen = pipeline.checkpoints or os.path.join(".penstock", pipeline.name)
    if urlsplit(chosen).scheme:
        return chosen.rstrip("/")
    return os.path.abspath(os.path.join(pipeline.directory, chosen))


def state_directory(pipeline: Pipeline) -> str:
    """Where the status and the lock lie: with the checkpoints, unless those are not on a disk of this machine."""
    root = checkpoint_root(pipeline)
    parts = urlsplit(root)
    if not parts.scheme:
        return root
    if parts.scheme == "file":
        return parts.path
    return os.path.abspath(os.path.join(pipeline.directory, ".penstock", pipeline.name))
