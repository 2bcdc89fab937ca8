"""Which records a backfill reads, and that it is done once. Against a cluster that is a table of times."""

from pathlib import Path
from typing import Any

import pytest

from penstock.client.blocking.client import EARLIEST, LATEST, OffsetAt
from penstock.client.metadata import Partition, Topic, TopicPartition
from penstock.spark.decode.settings import JsonDecoder
from penstock.spark.pipeline.backfill import (
    BackfillLog,
    SourceRange,
    TimeRange,
    select_queries,
    source_ranges,
)
from penstock.spark.pipeline.core.model import Output, Pipeline, TopicSource
from penstock.spark.pipeline.core.queries import plan_queries
from penstock.spark.pipeline.outputs import TableTarget


class FakeCluster:
    """Topics by name; each partition is its first offset and the times of its records."""

    def __init__(self, topics: dict[str, list[tuple[int, list[int]]]]) -> None:
        self._topics = topics

    def topics(self) -> dict[str, Topic]:
        return {
            name: Topic(
                name=name,
                topic_id=b"",
                partitions={index: Partition(index=index) for index in range(len(partitions))},
            )
            for name, partitions in self._topics.items()
        }

    def list_offsets(self, wanted: dict[TopicPartition, int]) -> dict[TopicPartition, OffsetAt]:
        return {where: OffsetAt(offset=self._at(where, at), timestamp=0) for where, at in wanted.items()}

    def _at(self, where: TopicPartition, at: int) -> int:
        first, times = self._topics[where.topic][where.partition]
        if at == EARLIEST:
            return first
        if at == LATEST:
            return first + len(times)
        return next((first + index for index, time in enumerate(times) if time >= at), -1)


def shop(*sources: TopicSource) -> Pipeline:
    outputs = [
        Output(name=f"out_{source.name}", input=source.name, target=TableTarget(path="t"))
        for source in sources
    ]
    return Pipeline(name="shop", sources=sources, outputs=tuple(outputs))


ORDERS = TopicSource(name="orders", topics=("orders",))


def ranges(pipeline: Pipeline, cluster: FakeCluster, from_ms: int, to_ms: int) -> dict[str, SourceRange]:
    times = TimeRange(from_ms=from_ms, to_ms=to_ms)
    given: Any = cluster
    return source_ranges(plan_queries(pipeline), times, given)


def test_a_range_is_from_the_first_record_in_it_to_the_first_after_it() -> None:
    cluster = FakeCluster({"orders": [(0, [10, 20, 30, 40]), (5, [25, 35])]})
    found = ranges(shop(ORDERS), cluster, 20, 40)["orders"]
    assert found.start == {"orders": {0: 1, 1: 5}}
    assert found.end == {"orders": {0: 3, 1: 7}}


def test_a_range_after_the_last_record_is_empty() -> None:
    found = ranges(shop(ORDERS), FakeCluster({"orders": [(0, [10, 20])]}), 50, 60)["orders"]
    assert (found.start, found.end) == ({"orders": {0: 2}}, {"orders": {0: 2}})


def test_a_pattern_is_all_topics_that_it_matches() -> None:
    logs = TopicSource(name="logs", pattern="logs-.*")
    cluster = FakeCluster({"logs-a": [(0, [10])], "logs-b": [(0, [10, 20])], "other": [(0, [10])]})
    assert ranges(shop(logs), cluster, 0, 100)["logs"].end == {"logs-a": {0: 1}, "logs-b": {0: 2}}


def test_only_what_the_output_reads_is_looked_at() -> None:
    pipeline = shop(
        ORDERS, TopicSource(name="returns", topics=("returns",), decoder=JsonDecoder(schema="id STRING"))
    )
    (query,) = select_queries(pipeline, "out_returns")
    assert [source.name for source in query.reads] == ["returns"]
    assert len(select_queries(pipeline, None)) == 3  # the dead letters of the returns as well


def test_an_unknown_output_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="the pipeline has no output `x`: it has out_orders"):
        select_queries(shop(ORDERS), "x")


def test_what_was_done_is_known_to_the_next_run(tmp_path: Path) -> None:
    done = BackfillLog(str(tmp_path / "state"))
    assert "a 1 2" not in done.known
    done.add("a 1 2")
    assert list(BackfillLog(str(tmp_path / "state")).known) == ["a 1 2"]
