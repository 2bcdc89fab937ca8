"""Resets an output: its next run starts anew, from the beginning of its topics or from another place.

The checkpoint is moved to `.reset/` beside it, so that a reset can be taken back. Where to start is kept in
`resets.json` (a map of queries to a text as in `starting:`), until the query has a checkpoint again.
"""

import json
from collections.abc import Iterable, Mapping

import msgspec

from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.metadata import TopicPartition
from penstock.spark.lake.disk import Disk
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.positions import starting_problem, time_ms
from penstock.spark.pipeline.core.queries import PlannedQuery, checkpoint_root, plan_queries, state_directory
from penstock.spark.pipeline.plan.checkpoints import (
    has_finished_batch,
    local_root,
    move_aside,
)

RESETS_FILE = "resets.json"


class StartingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the query starts in a partition, and how many records that is."""

    source: str
    partition: TopicPartition
    offset: int
    records: int


def query_to_reset(pipeline: Pipeline, output: str) -> PlannedQuery:
    queries = {query.key: query for query in plan_queries(pipeline)}
    if output not in queries:
        raise ValueError(f"the pipeline has no output `{output}`: it has {', '.join(queries)}")
    return queries[output]


def starting_points(query: PlannedQuery, to: str, cluster: BlockingClient) -> list[StartingPoint]:
    """Return where the query would start. Raises ValueError for a place that does not exist."""
    if wrong := starting_problem(to):
        raise ValueError(f"--to {wrong}")
    found = []
    topics = cluster.topics()
    for source in query.reads:
        names = [name for name in topics if source.reads(name)]
        where = [TopicPartition(name, index) for name in names for index in topics[name].partitions]
        latest = {tp: each.offset for tp, each in cluster.list_offsets(dict.fromkeys(where, LATEST)).items()}
        for tp, offset in _offsets(to, where, latest, cluster).items():
            records = latest[tp] - offset
            found.append(StartingPoint(source=source.name, partition=tp, offset=offset, records=records))
    return found


def _offsets(
    to: str, where: list[TopicPartition], latest: Mapping[TopicPartition, int], cluster: BlockingClient
) -> dict[TopicPartition, int]:
    if to == "latest":
        return dict(latest)
    if to.lstrip().startswith("{"):
        return _given_offsets(to, where, latest)
    at = EARLIEST if to == "earliest" else time_ms(to)
    found = cluster.list_offsets(dict.fromkeys(where, at))
    # -1: no record is that recent
    return {tp: each.offset if each.offset >= 0 else latest[tp] for tp, each in found.items()}


def _given_offsets(
    to: str, where: list[TopicPartition], latest: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    given: dict[str, dict[str, int]] = json.loads(to)
    offsets = {tp: given.get(tp.topic, {}).get(str(tp.partition)) for tp in sorted(where)}
    missing = [str(tp) for tp, offset in offsets.items() if offset is None]
    if missing:
        raise ValueError(f"--to must name every partition that is read: {', '.join(missing)} is missing")
    found = {tp: offset for tp, offset in offsets.items() if offset is not None}
    beyond = [f"{tp} ends at offset {latest[tp]}" for tp, offset in found.items() if offset > latest[tp]]
    if beyond:
        raise ValueError(f"--to is beyond the end: {', '.join(beyond)}")
    return found


def reset_query(pipeline: Pipeline, query: PlannedQuery, to: str) -> str | None:
    """Let the next run of the query start at `to`; return where its checkpoint was moved, None if it had none."""
    root = local_root(pipeline)
    if root is None:
        raise ValueError(
            f"the checkpoints in {checkpoint_root(pipeline)} are not on this machine and cannot be moved: give the "
            f"output {query.key} another name in the file, under which it starts anew"
        )
    resets = {**read_resets(pipeline), query.key: to}
    _write_resets(pipeline, resets)
    return move_aside(root, query.key)


def read_resets(pipeline: Pipeline) -> dict[str, str]:
    content = Disk(state_directory(pipeline)).read(RESETS_FILE)
    return {} if content is None else msgspec.json.decode(content, type=dict[str, str])


def pending_resets(pipeline: Pipeline, queries: Iterable[PlannedQuery]) -> dict[str, str]:
    """Return where queries without a checkpoint start, by their keys; forget the resets that were done."""
    resets = read_resets(pipeline)
    root = local_root(pipeline)
    pending = {key: to for key, to in resets.items() if root is None or not has_finished_batch(root, key)}
    if pending != resets:
        _write_resets(pipeline, pending)
    keys = {query.key for query in queries}
    return {key: to for key, to in pending.items() if key in keys}


def started_at(pipeline: Pipeline, to: str) -> Pipeline:
    """Return the pipeline with all its topics starting there."""
    sources = tuple(
        source_started_at(source, to) if isinstance(source, TopicSource) else source
        for source in pipeline.sources
    )
    return msgspec.structs.replace(pipeline, sources=sources)


def source_started_at(source: TopicSource, to: str) -> TopicSource:
    return msgspec.structs.replace(source, starting=_of_source(source, to))


def _of_source(source: TopicSource, to: str) -> str:
    """Return the offsets of the topics that the source reads."""
    if not to.lstrip().startswith("{"):
        return to
    return json.dumps({topic: offsets for topic, offsets in json.loads(to).items() if source.reads(topic)})


def _write_resets(pipeline: Pipeline, resets: Mapping[str, str]) -> None:
    Disk(state_directory(pipeline)).write(RESETS_FILE, json.dumps(dict(resets), indent=2).encode())
