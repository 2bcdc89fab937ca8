"""The topics of a pipeline before it starts: those it reads must be there, those it writes are made."""

from collections.abc import Mapping, Sequence

from penstock.client.blocking.cluster import Cluster
from penstock.client.settings import ClientSettings
from penstock.spark.options import Options
from penstock.spark.pipeline.compile_sources import client_options
from penstock.spark.pipeline.model import Pipeline, TopicSource, TopicTarget
from penstock.spark.pipeline.problems import Problem, did_you_mean
from penstock.spark.pipeline.queries import PlannedQuery, dead_letter_topic

BROKER_DEFAULT = -1

# A dead letter is its record with the reason beside it: it must fit where the record only just did.
_DEAD_LETTER_CONFIGS = {"max.message.bytes": str(16 * 1024 * 1024)}


def client_settings(pipeline: Pipeline) -> ClientSettings:
    """How this process reaches the brokers: as the sources and sinks do."""
    return Options(client_options(pipeline)).client_settings()


def topics_written(pipeline: Pipeline, queries: Sequence[PlannedQuery]) -> dict[str, int]:
    """Each topic that is written, with the partitions it should get if it is missing."""
    found: dict[str, int] = {}
    for output in pipeline.outputs:
        if isinstance(output.target, TopicTarget):
            wanted = output.target.partitions or BROKER_DEFAULT
            found[output.target.topic] = max(wanted, found.get(output.target.topic, BROKER_DEFAULT))
    if any(query.output is None for query in queries):
        found.setdefault(dead_letter_topic(pipeline), BROKER_DEFAULT)
    return found


def missing_inputs(pipeline: Pipeline, known: Sequence[str], written: Mapping[str, int]) -> list[Problem]:
    """Topics that a source names and nobody has made."""
    return [
        Problem(
            line=source.line,
            message=f"source {source.name} reads topic {topic}, which does not exist"
            + (did_you_mean(topic, known) or f": make it with `penstock topic create {topic}`"),
        )
        for source in pipeline.sources
        if isinstance(source, TopicSource)
        for topic in source.topics
        if topic not in known and topic not in written
    ]


def prepare_topics(pipeline: Pipeline, queries: Sequence[PlannedQuery], cluster: Cluster) -> list[Problem]:
    """Make the topics that are written and missing; gives what is wrong with those that are read."""
    known = sorted(cluster.topics())
    written = topics_written(pipeline, queries)
    problems = missing_inputs(pipeline, known, written)
    if not problems:
        for topic, partitions in written.items():
            if topic not in known:
                configs = _DEAD_LETTER_CONFIGS if topic == dead_letter_topic(pipeline) else {}
                cluster.create_topic(topic, partitions=partitions, configs=configs)
    return problems
