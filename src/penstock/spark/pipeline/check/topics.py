"""Whether the topics of a pipeline are there. Pure: what topics the cluster has comes from the caller."""

import re
from collections.abc import Iterator, Mapping

from penstock.spark.pipeline.model import Pipeline, TopicSource, TopicTarget
from penstock.spark.pipeline.problems import Problem, warning
from penstock.spark.pipeline.queries import plan_queries
from penstock.spark.pipeline.run_topics import missing_inputs, topics_written


def topic_problems(pipeline: Pipeline, partitions: Mapping[str, int]) -> list[Problem]:
    """Topics that sources name and nobody has made or writes; patterns that match none; partitions that differ."""
    written = topics_written(pipeline, plan_queries(pipeline))
    return [
        *missing_inputs(pipeline, sorted(partitions), written),
        *_empty_patterns(pipeline, partitions),
        *_other_partitions(pipeline, partitions),
    ]


def _empty_patterns(pipeline: Pipeline, partitions: Mapping[str, int]) -> Iterator[Problem]:
    for source in pipeline.sources:
        if isinstance(source, TopicSource) and source.pattern is not None:
            pattern = re.compile(source.pattern)
            if not any(pattern.fullmatch(topic) for topic in partitions):
                yield warning(source.line, f"source {source.name}: no topic matches `{source.pattern}` yet")


def _other_partitions(pipeline: Pipeline, partitions: Mapping[str, int]) -> Iterator[Problem]:
    for output in pipeline.outputs:
        target = output.target
        if not isinstance(target, TopicTarget) or target.partitions is None:
            continue
        there = partitions.get(target.topic)
        if there is not None and there != target.partitions:
            yield warning(
                target.line,
                f"output {output.name}: topic {target.topic} has {there} partition(s) already, not "
                f"{target.partitions}: `partitions` is only for topics that are missing",
            )
