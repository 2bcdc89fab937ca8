"""Which offsets each micro-batch reads."""

from typing import Any

import pytest

from penstock.client.metadata import TopicPartition
from penstock.spark.options import Options
from penstock.spark.source.plan import DataLoss
from penstock.spark.source.positions import MissingTopics, Positions
from penstock.spark.source.spec import stream_spec
from penstock.spark.source.stream import LATEST_CACHE_MS, PARTITIONS_CACHE_MS, StreamPlanner
from tests.client.blocking.clock import TestClock
from tests.spark.source.cluster_model import ClusterModel

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Stream:
    """A planner over a model that a test changes as it goes."""

    def __init__(self, **given: Any) -> None:
        named = {"subscribe": "a", "startingOffsets": "earliest", **{k: str(v) for k, v in given.items()}}
        if "subscribePattern" in named:
            del named["subscribe"]
        self.spec = stream_spec(Options({"kafka.bootstrap.servers": "x:1", **named}))
        self.model = ClusterModel({A0: (0, 10), A1: (0, 30)})
        self.clock = TestClock()
        self.planner = self.started()

    def started(self) -> StreamPlanner:
        positions = Positions(self.model, self.spec.subscription)
        return StreamPlanner(positions, self.spec, self.clock)

    def tasks(self, start: Any, end: Any) -> list[tuple[str, int, int, int]]:
        return [(r.topic, r.partition, r.start, r.end) for r in self.planner.ranges(start, end)]


def test_micro_batches_follow_one_another() -> None:
    stream = Stream()
    start = stream.planner.initial()
    assert start == {A0: 0, A1: 0}
    end = stream.planner.latest(start, takes_all=True)
    assert end == {A0: 10, A1: 30}
    assert stream.tasks(start, end) == [("a", 0, 0, 10), ("a", 1, 0, 30)]
    stream.model.logs[A0] = (0, 12)
    stream.clock.sleep(LATEST_CACHE_MS)
    assert stream.planner.latest(end, takes_all=True) == {A0: 12, A1: 30}
    assert stream.planner.latest_known() == {A0: 12, A1: 30}


def test_answers_are_kept_for_a_moment_because_spark_asks_all_the_time() -> None:
    stream = Stream()
    start = stream.planner.initial()
    stream.planner.latest(start, takes_all=True)
    asked = stream.model.questions
    stream.model.logs[A0] = (0, 99)
    for _ in range(20):
        assert stream.planner.latest(start, takes_all=True)[A0] == 10
    assert stream.model.questions == asked
    stream.clock.sleep(LATEST_CACHE_MS)
    assert stream.planner.latest(start, takes_all=True)[A0] == 99


def test_a_limit_is_kept_and_the_rest_follows() -> None:
    stream = Stream(maxOffsetsPerTrigger=8)
    start = stream.planner.initial()
    end = stream.planner.latest(start, records_max=8)
    assert end == {A0: 2, A1: 6}
    assert stream.planner.latest(end, takes_all=True) == {A0: 10, A1: 30}


def test_few_records_wait_for_more_until_the_delay_is_over() -> None:
    stream = Stream(minOffsetsPerTrigger=41, maxTriggerDelay="10s")
    start = stream.planner.initial()
    assert stream.planner.latest(start) == start
    stream.model.logs[A0] = (0, 11)
    stream.clock.sleep(LATEST_CACHE_MS)
    first = stream.planner.latest(start)
    assert first == {A0: 11, A1: 30}
    assert stream.planner.latest(first) == first
    stream.clock.sleep(9_900)
    stream.model.logs[A0] = (0, 12)
    assert stream.planner.latest(first) == first
    stream.clock.sleep(100)
    assert stream.planner.latest(first) == {A0: 12, A1: 30}


def test_new_partitions_and_topics_are_read_from_their_beginning() -> None:
    stream = Stream(subscribePattern="a|b", maxOffsetsPerTrigger=1000)
    start = stream.planner.initial()
    stream.model.logs[B0] = (0, 4)
    stream.clock.sleep(PARTITIONS_CACHE_MS)
    end = stream.planner.latest(start, records_max=1000)
    assert end == {A0: 10, A1: 30, B0: 4}
    assert ("b", 0, 0, 4) in stream.tasks(start, end)


def test_a_deleted_topic_stops_the_query_or_is_left_behind() -> None:
    start = {A0: 5, A1: 30, B0: 3}
    with pytest.raises(DataLoss, match=r"b-0 no longer exists.*failOnDataLoss"):
        Stream().planner.latest(start, takes_all=True)
    lenient = Stream(failOnDataLoss="false")
    end = lenient.planner.latest(start, takes_all=True)
    assert end == {A0: 10, A1: 30}
    assert lenient.tasks(start, end) == [("a", 0, 5, 10)]


def test_an_end_that_went_back_stops_the_query_or_is_taken_as_it_is() -> None:
    start = {A0: 11, A1: 0}
    with pytest.raises(DataLoss, match="a-0 now ends at offset 10, but was read up to offset 11 before"):
        Stream().planner.latest(start, takes_all=True)
    lenient = Stream(failOnDataLoss="false")
    end = lenient.planner.latest(start, takes_all=True)
    assert lenient.tasks(start, end) == [("a", 1, 0, 30)]


def test_a_broker_that_does_not_know_all_yet_is_asked_again_before_anything_is_called_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = Stream()
    del stream.model.logs[A1]
    ask = stream.model.topics

    def later(*names: Any) -> Any:
        if stream.clock.slept_ms:
            stream.model.logs[A1] = (0, 30)
        return ask(*names)

    monkeypatch.setattr(stream.model, "topics", later)
    assert stream.planner.latest({A0: 0, A1: 0}, takes_all=True) == {A0: 10, A1: 30}


def test_available_now_reads_what_is_there_and_nothing_that_comes_later() -> None:
    stream = Stream(minOffsetsPerTrigger=1000)
    stream.planner.stop_at_current_end()
    start = stream.planner.initial()
    first = stream.planner.latest(start, records_max=20)
    stream.model.logs[A0] = (0, 99)
    stream.clock.sleep(10_000)
    end = stream.planner.latest(first, records_max=1000)
    assert end == {A0: 10, A1: 30}
    assert stream.planner.latest(end, records_max=1000) == end


def test_a_start_at_the_latest_offset_makes_the_first_micro_batch_empty() -> None:
    stream = Stream(startingOffsets="latest")
    start = stream.planner.initial()
    stream.model.logs[A0] = (0, 15)
    assert stream.planner.latest(start, takes_all=True) == start
    assert stream.tasks(start, start) == []
    assert stream.planner.latest(start, takes_all=True) == {A0: 15, A1: 30}


def test_when_the_first_micro_batch_is_run_again_its_later_start_loses_nothing() -> None:
    stream = Stream(startingOffsets="latest")
    logged_end = dict(stream.planner.initial())
    stream.model.logs[A0] = (0, 15)
    stream.planner = stream.started()
    asked_again = stream.planner.initial()
    assert asked_again[A0] == 15
    assert stream.tasks(asked_again, logged_end) == []
    assert stream.planner.latest(logged_end, takes_all=True)[A0] == 15


def test_a_missing_topic_is_reported_when_the_query_starts() -> None:
    with pytest.raises(MissingTopics, match="topic c does not exist"):
        Stream(subscribe="a,c").planner.initial()


def test_tasks_are_split_as_asked() -> None:
    stream = Stream(minPartitions=3, maxRecordsPerPartition=20)
    assert stream.tasks({A0: 0, A1: 0}, {A0: 10, A1: 30}) == [
        ("a", 0, 0, 10),
        ("a", 1, 0, 15),
        ("a", 1, 15, 30),
    ]


def test_a_topic_that_came_before_the_first_micro_batch_was_run_again_is_read_by_a_later_one() -> None:
    stream = Stream(subscribePattern="[ab]")
    end = stream.planner.latest(stream.planner.initial(), takes_all=True)
    stream.model.logs[B0] = (0, 5)
    stream.planner = stream.started()
    start = stream.planner.initial()
    assert start == {A0: 0, A1: 0, B0: 0}
    assert stream.tasks(start, end) == [("a", 0, 0, 10), ("a", 1, 0, 30)]
    after = stream.planner.latest(end, takes_all=True)
    assert stream.tasks(end, after) == [("b", 0, 0, 5)]
