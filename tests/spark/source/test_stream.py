"""Which offsets each micro-batch reads."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.arrow.ranges import DataLoss
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError, Options
from penstock.spark.source.offsets import StreamOffsets
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

    def initial(self) -> dict[TopicPartition, int]:
        return dict(self.planner.initial().offsets)

    def latest(self, start: Mapping[TopicPartition, int], **limits: Any) -> dict[TopicPartition, int]:
        return dict(self.planner.latest(StreamOffsets(offsets=start), **limits).offsets)

    def tasks(self, start: Any, end: Any) -> list[tuple[str, int, int, int]]:
        first, last = StreamOffsets(offsets=start), StreamOffsets(offsets=end)
        return [(r.topic, r.partition, r.start, r.end) for r in self.planner.ranges(first, last)]


def test_micro_batches_follow_one_another() -> None:
    stream = Stream()
    start = stream.initial()
    assert start == {A0: 0, A1: 0}
    end = stream.latest(start, takes_all=True)
    assert end == {A0: 10, A1: 30}
    assert stream.tasks(start, end) == [("a", 0, 0, 10), ("a", 1, 0, 30)]
    stream.model.logs[A0] = (0, 12)
    stream.clock.sleep(LATEST_CACHE_MS)
    assert stream.latest(end, takes_all=True) == {A0: 12, A1: 30}
    known = stream.planner.latest_known()
    assert known is not None
    assert known.offsets == {A0: 12, A1: 30}


def test_answers_are_kept_for_a_moment_because_spark_asks_all_the_time() -> None:
    stream = Stream()
    start = stream.initial()
    stream.latest(start, takes_all=True)
    asked = stream.model.questions
    stream.model.logs[A0] = (0, 99)
    for _ in range(20):
        assert stream.latest(start, takes_all=True)[A0] == 10
    assert stream.model.questions == asked
    stream.clock.sleep(LATEST_CACHE_MS)
    assert stream.latest(start, takes_all=True)[A0] == 99


def test_a_limit_is_kept_and_the_rest_follows() -> None:
    stream = Stream(maxOffsetsPerTrigger=8)
    start = stream.initial()
    end = stream.latest(start, records_max=8)
    assert end == {A0: 2, A1: 6}
    assert stream.latest(end, takes_all=True) == {A0: 10, A1: 30}


def test_few_records_wait_for_more_until_the_delay_is_over() -> None:
    stream = Stream(minOffsetsPerTrigger=41, maxTriggerDelay="10s")
    start = stream.initial()
    assert stream.latest(start) == start
    stream.model.logs[A0] = (0, 11)
    stream.clock.sleep(LATEST_CACHE_MS)
    first = stream.latest(start)
    assert first == {A0: 11, A1: 30}
    assert stream.latest(first) == first
    stream.clock.sleep(9_900)
    stream.model.logs[A0] = (0, 12)
    assert stream.latest(first) == first
    stream.clock.sleep(100)
    assert stream.latest(first) == {A0: 12, A1: 30}


def test_new_partitions_and_topics_are_read_from_their_beginning() -> None:
    stream = Stream(subscribePattern="a|b", maxOffsetsPerTrigger=1000)
    start = stream.initial()
    stream.model.logs[B0] = (0, 4)
    stream.clock.sleep(PARTITIONS_CACHE_MS)
    end = stream.latest(start, records_max=1000)
    assert end == {A0: 10, A1: 30, B0: 4}
    assert ("b", 0, 0, 4) in stream.tasks(start, end)


def test_a_deleted_topic_stops_the_query_or_is_left_behind() -> None:
    start = {A0: 5, A1: 30, B0: 3}
    with pytest.raises(DataLoss, match=r"b-0 no longer exists.*failOnDataLoss"):
        Stream().latest(start, takes_all=True)
    lenient = Stream(failOnDataLoss="false")
    end = lenient.latest(start, takes_all=True)
    assert end == {A0: 10, A1: 30}
    assert lenient.tasks(start, end) == [("a", 0, 5, 10)]


def test_an_end_that_went_back_stops_the_query_or_is_taken_as_it_is() -> None:
    start = {A0: 11, A1: 0}
    with pytest.raises(DataLoss, match="a-0 now ends at offset 10, but was read up to offset 11 before"):
        Stream().latest(start, takes_all=True)
    lenient = Stream(failOnDataLoss="false")
    end = lenient.latest(start, takes_all=True)
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
    assert stream.latest({A0: 0, A1: 0}, takes_all=True) == {A0: 10, A1: 30}


def test_available_now_reads_what_is_there_and_nothing_that_comes_later() -> None:
    stream = Stream(minOffsetsPerTrigger=1000)
    stream.planner.stop_at_current_end()
    start = stream.initial()
    first = stream.latest(start, records_max=20)
    stream.model.logs[A0] = (0, 99)
    stream.clock.sleep(10_000)
    end = stream.latest(first, records_max=1000)
    assert end == {A0: 10, A1: 30}
    assert stream.latest(end, records_max=1000) == end


def test_a_start_at_the_latest_offset_makes_the_first_micro_batch_empty() -> None:
    stream = Stream(startingOffsets="latest")
    start = stream.initial()
    stream.model.logs[A0] = (0, 15)
    assert stream.latest(start, takes_all=True) == start
    assert stream.tasks(start, start) == []
    assert stream.latest(start, takes_all=True) == {A0: 15, A1: 30}


def test_when_the_first_micro_batch_is_run_again_its_later_start_loses_nothing() -> None:
    stream = Stream(startingOffsets="latest")
    logged_end = stream.initial()
    stream.model.logs[A0] = (0, 15)
    stream.planner = stream.started()
    asked_again = stream.initial()
    assert asked_again[A0] == 15
    assert stream.tasks(asked_again, logged_end) == []
    assert stream.latest(logged_end, takes_all=True)[A0] == 15


def test_a_missing_topic_is_reported_when_the_query_starts() -> None:
    with pytest.raises(MissingTopics, match="topic c does not exist"):
        Stream(subscribe="a,c").initial()


def test_offsets_written_by_a_person_beyond_the_end_are_refused_as_by_sparks_connector() -> None:
    beyond = '{"a": {"0": 11, "1": 30}}'
    with pytest.raises(
        OptionError, match=r"startingOffsets: a-0 ends at offset 10, so it cannot be read from .* 11"
    ):
        Stream(startingOffsets=beyond).initial()
    assert Stream(startingOffsets=beyond, failOnDataLoss="false").initial() == {A0: 11, A1: 30}


OLD, NEW = "AQEBAQEBAQEBAQEBAQEBAQ", "AgICAgICAgICAgICAgICAg"


def recreated(**given: Any) -> tuple[Stream, StreamOffsets]:
    """A topic that was read to offset 5 and 7, and was created again with more records than that."""
    stream = Stream(**given)
    stream.model.topic_ids["a"] = bytes([2]) * 16
    return stream, StreamOffsets(offsets={A0: 5, A1: 7}, topic_ids={"a": OLD})


def test_a_topic_that_was_created_again_stops_the_query_though_it_has_enough_records() -> None:
    stream, start = recreated()
    with pytest.raises(
        DataLoss, match=rf"topic a was deleted and created again \(its id was {OLD} and is {NEW}"
    ):
        stream.planner.latest(start, takes_all=True)


def test_without_fail_on_data_loss_a_topic_that_was_created_again_is_read_from_its_beginning() -> None:
    stream, start = recreated(failOnDataLoss="false")
    end = stream.planner.latest(start, records_max=20)
    assert end == StreamOffsets(offsets={A0: 5, A1: 15}, topic_ids={"a": NEW})
    ranges = stream.planner.ranges(start, end)
    assert [(each.partition, each.start, each.end, each.topic_id) for each in ranges] == [
        (0, 0, 5, NEW),
        (1, 0, 15, NEW),
    ]


def test_a_checkpoint_without_ids_goes_on_and_gains_them_with_the_next_records() -> None:
    stream, _ = recreated()
    read = StreamOffsets(offsets={A0: 10, A1: 30})
    assert stream.planner.latest(read, takes_all=True) == read
    stream.model.logs[A0] = (0, 11)
    stream.clock.sleep(LATEST_CACHE_MS)
    assert stream.planner.latest(read, takes_all=True).topic_ids == {"a": NEW}


def test_a_topic_that_came_before_the_first_micro_batch_was_run_again_is_read_by_a_later_one() -> None:
    stream = Stream(subscribePattern="[ab]")
    end = stream.latest(stream.initial(), takes_all=True)
    stream.model.logs[B0] = (0, 5)
    stream.planner = stream.started()
    start = stream.initial()
    assert start == {A0: 0, A1: 0, B0: 0}
    assert stream.tasks(start, end) == [("a", 0, 0, 10), ("a", 1, 0, 30)]
    after = stream.latest(end, takes_all=True)
    assert stream.tasks(end, after) == [("b", 0, 0, 5)]
