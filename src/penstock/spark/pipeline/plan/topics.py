"""Compares the offsets of a checkpoint with the topics as they are now. No I/O, but for the cluster that it asks."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from penstock.arrow.ranges import topic_id_text
from penstock.client.blocking.client import EARLIEST, LATEST, BlockingClient
from penstock.client.metadata import Topic, TopicPartition
from penstock.spark.pipeline.plan.checkpoints import Checkpoint
from penstock.spark.pipeline.plan.findings import Finding, Ways
from penstock.spark.pipeline.plan.record import SourceRecord
from penstock.spark.source.offsets import StreamOffsets

_LEAVE_BEHIND = (
    "set the option `failOnDataLoss: false` of the source for one run, which goes on without those records"
)


class TopicState(msgspec.Struct, frozen=True, kw_only=True):
    """The topics of a cluster, and the first and next offsets of the partitions that checkpoints know."""

    topics: Mapping[str, Topic]
    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]


def fetch_topics(cluster: BlockingClient, checkpoints: Mapping[str, Checkpoint]) -> TopicState:
    topics = cluster.topics()
    known = {
        tp
        for checkpoint in checkpoints.values()
        for source in checkpoint.sources
        for tp in source.offsets
        if tp.topic in topics and tp.partition in topics[tp.topic].partitions
    }
    earliest, latest = (
        {tp: found.offset for tp, found in cluster.list_offsets(dict.fromkeys(known, at)).items()}
        for at in (EARLIEST, LATEST)
    )
    return TopicState(topics=topics, earliest=earliest, latest=latest)


def topic_findings(
    checkpoint: Checkpoint, state: TopicState, sources: Sequence[SourceRecord], ways: Ways
) -> Iterator[Finding]:
    """Compare the offsets of each source. `sources` are those of the file, in the same order."""
    for number, source in enumerate(checkpoint.sources):
        lenient = number < len(sources) and sources[number].leaves_losses_behind
        for topic in sorted({tp.topic for tp in source.offsets}):
            loss = (
                _recreation(source, topic, state)
                or _missing(source, topic, state)
                or _retention(source, topic, state)
            )
            if loss and lenient:
                yield ways.goes_on(f"{loss}; that is left behind, because of `failOnDataLoss: false`")
            elif loss:
                yield ways.cannot_go_on(loss, _LEAVE_BEHIND, ways.reset)


def _recreation(source: StreamOffsets, topic: str, state: TopicState) -> str | None:
    known, now = source.topic_ids.get(topic), state.topics.get(topic)
    found = topic_id_text(now.topic_id) if now is not None else ""
    if known is None or not found or known == found:
        return None
    return (
        f"topic {topic} was deleted and created again (its id was {known} and is {found} now): the offsets of the "
        "checkpoint are of the old one"
    )


def _missing(source: StreamOffsets, topic: str, state: TopicState) -> str | None:
    now = state.topics.get(topic)
    if now is None:
        return f"topic {topic} no longer exists"
    gone = [
        str(tp) for tp in sorted(source.offsets) if tp.topic == topic and tp.partition not in now.partitions
    ]
    if gone:
        return f"{', '.join(gone)} no longer exists: was the topic created again with fewer partitions?"
    beyond = [
        f"{tp} was read up to offset {offset} and ends at {state.latest[tp]} now"
        for tp, offset in sorted(source.offsets.items())
        if tp.topic == topic and offset > state.latest.get(tp, offset)
    ]
    return f"{'; '.join(beyond)}: was the topic created again?" if beyond else None


def _retention(source: StreamOffsets, topic: str, state: TopicState) -> str | None:
    lost = {
        tp: state.earliest[tp] - offset
        for tp, offset in sorted(source.offsets.items())
        if tp.topic == topic and state.earliest.get(tp, 0) > offset
    }
    where = ", ".join(f"{tp} ({count:,} records)" for tp, count in lost.items())
    return f"retention has deleted records that were not read yet: {where}" if lost else None
