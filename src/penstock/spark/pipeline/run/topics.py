"""Checks the topics that a pipeline reads, and creates those that it writes."""

from collections.abc import Iterator, Mapping, Sequence

from penstock.client.blocking.client import BlockingClient
from penstock.client.settings import ClientSettings
from penstock.spark.options import Options
from penstock.spark.pipeline.core.model import Pipeline, TopicSource
from penstock.spark.pipeline.core.problems import Problem, did_you_mean, warning
from penstock.spark.pipeline.core.queries import PlannedQuery, dead_letter_topic, plan_queries
from penstock.spark.pipeline.outputs import TopicTarget

BROKER_DEFAULT = -1

# A dead letter is its record with the reason beside it: it must fit where the record only just did.
_DEAD_LETTER_CONFIGS = {"max.message.bytes": str(16 * 1024 * 1024)}


def client_settings(pipeline: Pipeline) -> ClientSettings:
    """Return the settings with which sources and sinks, and this process, connect to the brokers."""
    return Options(pipeline.client_options).client_settings()


def topics_written(pipeline: Pipeline, queries: Sequence[PlannedQuery]) -> dict[str, int]:
    """Return each topic that is written, with the number of partitions for creating it."""
    found: dict[str, int] = {}
    for output in pipeline.outputs:
        if isinstance(output.target, TopicTarget):
            wanted = output.target.partitions or BROKER_DEFAULT
            found[output.target.topic] = max(wanted, found.get(output.target.topic, BROKER_DEFAULT))
    if any(query.output is None for query in queries):
        found.setdefault(dead_letter_topic(pipeline), BROKER_DEFAULT)
    return found


def missing_inputs(pipeline: Pipeline, known: Sequence[str], written: Mapping[str, int]) -> list[Problem]:
    return [
        Problem(
            line=source.line,
            message=f"source {source.name} reads topic {topic}, which does not exist"
            + (did_you_mean(topic, known) or f": create it with `penstock topic create {topic}`"),
        )
        for source in pipeline.sources
        if isinstance(source, TopicSource)
        for topic in source.topics
        if topic not in known and topic not in written
    ]


def prepare_topics(
    pipeline: Pipeline, queries: Sequence[PlannedQuery], cluster: BlockingClient
) -> list[Problem]:
    """Create the missing topics that are written; return the problems of those that are read."""
    known = sorted(cluster.topics())
    written = topics_written(pipeline, queries)
    problems = missing_inputs(pipeline, known, written)
    if not problems:
        for topic, partitions in written.items():
            if topic not in known:
                configs = _DEAD_LETTER_CONFIGS if topic == dead_letter_topic(pipeline) else {}
                cluster.create_topic(topic, partitions=partitions, configs=configs)
    return problems


def topic_problems(pipeline: Pipeline, partitions: Mapping[str, int]) -> list[Problem]:
    """Report missing topics that no output writes, patterns without a match, and partition counts that differ."""
    written = topics_written(pipeline, plan_queries(pipeline))
    return [
        *missing_inputs(pipeline, sorted(partitions), written),
        *_unmatched_pattern_warnings(pipeline, partitions),
        *_partition_count_warnings(pipeline, partitions),
    ]


def _unmatched_pattern_warnings(pipeline: Pipeline, partitions: Mapping[str, int]) -> Iterator[Problem]:
    for source in pipeline.sources:
        if isinstance(source, TopicSource) and source.pattern and not any(map(source.reads, partitions)):
            yield warning(source.line, f"source {source.name}: no topic matches `{source.pattern}` yet")


def _partition_count_warnings(pipeline: Pipeline, partitions: Mapping[str, int]) -> Iterator[Problem]:
    for output in pipeline.outputs:
        target = output.target
        if not isinstance(target, TopicTarget) or target.partitions is None:
            continue
        existing = partitions.get(target.topic)
        if existing is not None and existing != target.partitions:
            yield warning(
                target.line,
                f"output {output.name}: topic {target.topic} has {existing} partition(s) already, not "
                f"{target.partitions}: `partitions` is only for topics that are missing",
            )
