"""Plans what a pipeline writes, the streaming queries that write it, and the order in which `--once` runs them. No I/O.

Each output is written by itself, and so are the dead letters of each source, step or output that may reject rows: these
are the planned queries, which the user sees, named `<pipeline>.<output>` or `<pipeline>.dead-letters.<source or step>`.

A `QueryGroup` is one streaming query of Spark. Planned queries that only pick and change rows of one source share its
reads: their group has its state in `_source.<source>`. Every other planned query is a group of its own, whose
checkpoint is named like the part after the pipeline's name (docs/adr/0027-read-once.md).

Groups may feed each other through topics. `plan_rounds` puts a group after those that write its topics; groups that
feed each other in a cycle share a round, which is repeated until none of them reads new records.
"""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from penstock.spark.dead_letter_format import TOPIC_SUFFIX
from penstock.spark.pipeline.core.graph import reachable, upstream
from penstock.spark.pipeline.core.model import Output, Pipeline, TopicSource, rejects

DEAD_LETTERS = "dead-letters"
SHARED_PREFIX = "_source."  # no output can have a name that begins so
SHARED_CHECKPOINT = "query"


class PlannedQuery(msgspec.Struct, frozen=True, kw_only=True):
    key: str  # unique in the pipeline; the checkpoint's directory
    name: str  # as Spark and the user know it
    reads: tuple[TopicSource, ...]
    input: str = ""  # the source or step whose rows it is made of
    output: Output | None = None  # None: the dead letters of `rejecting`
    rejecting: str = ""
    writes_topic: str | None = None
    trigger_ms: int = 0

    @property
    def group(self) -> str:
        """The consumer group to which its consumed offsets are committed."""
        return f"penstock-pipeline.{self.name}"


class QueryGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The planned queries that one streaming query writes."""

    key: str  # the directory of its state
    name: str  # of Spark's query
    members: tuple[PlannedQuery, ...]
    shared_source: str = (
        ""  # the source whose batches all members are made of; empty: a single member, as a whole
    )

    @property
    def reads(self) -> tuple[TopicSource, ...]:
        return self.members[0].reads

    @property
    def trigger_ms(self) -> int:
        return self.members[0].trigger_ms

    @property
    def checkpoint(self) -> str:
        """The directory of Spark's checkpoint. Spark wants a new one to be empty."""
        return f"{self.key}/{SHARED_CHECKPOINT}" if self.shared_source else self.key

    @property
    def has_one_member(self) -> bool:
        return len(self.members) == 1

    @property
    def label(self) -> str:
        return ", ".join(member.name for member in self.members)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    groups: tuple[QueryGroup, ...]
    repeats: bool = False  # its groups feed each other


def rejects_of(output: Output) -> str:
    """Return the name of an output's rejects; names of sources and steps have no dot."""
    return f"output.{output.name}"


def plan_queries(pipeline: Pipeline) -> tuple[PlannedQuery, ...]:
    """Return the queries of a pipeline: its outputs in the file's order, then its dead letters."""
    outputs = [_for_output(pipeline, output) for output in pipeline.outputs]
    needed = upstream(pipeline, (output.input for output in pipeline.outputs))
    rejecting = [name for name in _rejecting(pipeline) if name in needed]
    unwritable = [(rejects_of(each), each.input) for each in pipeline.outputs if each.target.rejects_rows]
    letters = [*((name, name) for name in rejecting), *unwritable]
    return (*outputs, *(_for_dead_letters(pipeline, name, reads) for name, reads in letters))


def group_queries(
    pipeline: Pipeline, queries: Sequence[PlannedQuery], sources: Mapping[str, str]
) -> tuple[QueryGroup, ...]:
    """Group the queries that share a source. `sources` has the source of each query that can share one, by its key."""
    shared: dict[str, list[PlannedQuery]] = {}
    for query in queries:
        if query.key in sources and query.trigger_ms == pipeline.trigger_ms:
            shared.setdefault(sources[query.key], []).append(query)
    groups: dict[str, QueryGroup] = {}
    for query in queries:
        source = sources.get(query.key, "")
        if query in shared.get(source, ()):
            key = f"{SHARED_PREFIX}{source}"
            members = tuple(shared[source])
            groups[key] = QueryGroup(
                key=key, name=f"{pipeline.name}.{key}", members=members, shared_source=source
            )
        else:
            groups[query.key] = QueryGroup(key=query.key, name=query.name, members=(query,))
    return tuple(groups.values())


def dead_letter_topic(pipeline: Pipeline) -> str:
    return pipeline.dead_letter_topic or f"{pipeline.name}{TOPIC_SUFFIX}"


def _for_output(pipeline: Pipeline, output: Output) -> PlannedQuery:
    return PlannedQuery(
        key=output.name,
        name=f"{pipeline.name}.{output.name}",
        reads=_topics_of(pipeline, output.input),
        input=output.input,
        output=output,
        writes_topic=output.target.writes_topic,
        trigger_ms=pipeline.trigger_ms if output.trigger_ms is None else output.trigger_ms,
    )


def _for_dead_letters(pipeline: Pipeline, rejecting: str, reads: str) -> PlannedQuery:
    key = f"{DEAD_LETTERS}.{rejecting}"
    return PlannedQuery(
        key=key,
        name=f"{pipeline.name}.{key}",
        reads=_topics_of(pipeline, reads),
        input=reads,
        rejecting=rejecting,
        writes_topic=dead_letter_topic(pipeline),
        trigger_ms=pipeline.trigger_ms,
    )


def _topics_of(pipeline: Pipeline, name: str) -> tuple[TopicSource, ...]:
    names = upstream(pipeline, [name])
    return tuple(each for each in pipeline.sources if isinstance(each, TopicSource) and each.name in names)


def _rejecting(pipeline: Pipeline) -> list[str]:
    topics = [source for source in pipeline.sources if isinstance(source, TopicSource)]
    return [
        *(each.name for each in topics if not each.decoder.accepts_all or rejects(each.expectations)),
        *(step.name for step in pipeline.steps if rejects(step.expectations)),
    ]


# -- the order of `--once`


def plan_rounds(groups: Sequence[QueryGroup]) -> tuple[Round, ...]:
    """Return rounds of groups, each after the rounds that write its topics."""
    writers = [
        (group.key, member.writes_topic)
        for group in groups
        for member in group.members
        if member.writes_topic is not None
    ]
    feeds = {
        reader.key: {key for key, topic in writers if any(source.reads(topic) for source in reader.reads)}
        for reader in groups
    }
    reach = {key: reachable(feeds[key], feeds) for key in feeds}  # with itself, if it is in a cycle
    by_key = {group.key: group for group in groups}
    waiting, found = list(by_key), list[Round]()
    while waiting:
        ready = [key for key in waiting if not (reach[key] - _cycle_of(key, reach)).intersection(waiting)]
        chosen = [key for key in ready if key not in reach[key]]
        repeats = not chosen
        if repeats:
            chosen = [key for key in ready if key in _cycle_of(ready[0], reach)]
        found.append(Round(groups=tuple(by_key[key] for key in chosen), repeats=repeats))
        waiting = [key for key in waiting if key not in chosen]
    return tuple(found)


def _cycle_of(key: str, reach: dict[str, set[str]]) -> set[str]:
    """Return the groups of this one's cycle; empty if it is in none."""
    return {other for other in reach[key] if key in reach[other]}


# -- directories


def checkpoint_root(pipeline: Pipeline) -> str:
    chosen = pipeline.checkpoints or os.path.join(".penstock", pipeline.name)
    if urlsplit(chosen).scheme:
        return chosen.rstrip("/")
    return os.path.abspath(os.path.join(pipeline.directory, chosen))


def state_directory(pipeline: Pipeline) -> str:
    """Return the directory of the status and the lock: the checkpoints' directory, if it is on this machine."""
    root = checkpoint_root(pipeline)
    parts = urlsplit(root)
    if not parts.scheme:
        return root
    if parts.scheme == "file":
        return parts.path
    return os.path.abspath(os.path.join(pipeline.directory, ".penstock", pipeline.name))
