"""Options of the source: what they mean, and what is refused by name."""

from typing import Any

import pytest

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError, Options
from penstock.spark.source.spec import (
    Assigned,
    AtOffsets,
    AtTimestamps,
    EarliestOrLatest,
    SourceSpec,
    Topics,
    batch_spec,
    depends_on_time,
    stream_spec,
)

A0 = TopicPartition("a", 0)


def options(**given: Any) -> Options:
    return Options({"kafka.bootstrap.servers": "x:1", **{k: str(v) for k, v in given.items()}})


def batch(**given: Any) -> SourceSpec:
    return batch_spec(options(subscribe="a", **given))


def stream(**given: Any) -> SourceSpec:
    return stream_spec(options(subscribe="a", **given))


def test_by_default_a_batch_reads_all_records_and_a_stream_only_new_ones() -> None:
    assert (batch().starting, batch().ending) == (
        EarliestOrLatest(offset=EARLIEST),
        EarliestOrLatest(offset=LATEST),
    )
    assert stream().starting == EarliestOrLatest(offset=LATEST)
    assert batch().fails_on_data_loss
    assert not batch().includes_headers
    assert not batch().client.reads_committed_only


def test_topics_are_named_matched_or_assigned() -> None:
    assert batch_spec(options(subscribe=" a, b,")).subscription == Topics(names=frozenset({"a", "b"}))
    assert batch_spec(options(subscribePattern="a.*")).subscription == Topics(pattern="a.*")
    assert batch_spec(options(assign='{"a": [0]}')).subscription == Assigned(partitions=frozenset({A0}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of the options subscribe, subscribePattern, assign must be set"),
        ({"subscribe": "a", "assign": '{"a": [0]}'}, "not subscribe and assign"),
        ({"subscribe": " , "}, "subscribe names no topic"),
        ({"subscribePattern": " "}, "subscribePattern is empty"),
        ({"subscribePattern": "("}, "subscribePattern is not a regular expression"),
    ],
)
def test_exactly_one_way_to_choose_topics_is_taken(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch_spec(options(**given))


def test_one_timestamp_goes_before_many_and_they_before_offsets() -> None:
    many = '{"a": {"0": 5}}'
    assert batch(startingOffsets=many).starting == AtOffsets(option="startingOffsets", offsets={A0: 5})
    both = batch(startingOffsets="earliest", startingOffsetsByTimestamp=many)
    assert both.starting == AtTimestamps(
        option="startingOffsetsByTimestamp", timestamps={A0: 5}, takes_latest=False
    )
    all_three = batch(startingOffsets="earliest", startingOffsetsByTimestamp=many, startingTimestamp=9)
    assert all_three.starting == AtTimestamps(option="startingTimestamp", timestamps=9, takes_latest=False)


def test_an_ending_timestamp_after_the_last_record_means_the_end() -> None:
    assert batch(endingTimestamp=9).ending == AtTimestamps(
        option="endingTimestamp", timestamps=9, takes_latest=True
    )


def test_the_strategy_says_what_a_start_after_the_last_record_means() -> None:
    found = stream(startingTimestamp=9, startingOffsetsByTimestampStrategy="LATEST").starting
    assert isinstance(found, AtTimestamps)
    assert found.takes_latest
    with pytest.raises(OptionError, match="startingOffsetsByTimestampStrategy must be error or latest"):
        stream(startingTimestamp=9, startingOffsetsByTimestampStrategy="oldest")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffsets": "latest"}, "startingOffsets cannot be latest"),
        ({"startingOffsets": '{"a": {"0": -1}}'}, "startingOffsets cannot be latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({"endingOffsets": '{"a": {"0": -2}}'}, "endingOffsets cannot be earliest"),
        ({"minPartitions": 0}, "minPartitions must be at least 1"),
        ({"maxRecordsPerPartition": 0}, "maxRecordsPerPartition must be at least 1"),
        ({"startingTimestamp": "soon"}, "startingTimestamp must be a whole number"),
        ({"minOffsetsPerTrigger": 9, "maxOffsetsPerTrigger": 3}, r"minOffsetsPerTrigger \(9\) is higher"),
        ({"maxTriggerDelay": "a while"}, "maxTriggerDelay: `a while` is not a duration"),
        (
            {"kafka.group.instance.id": "ok", "kafka.auto.offset.reset": "x"},
            r"auto\.offset\.reset .*startingOffsets",
        ),
        ({"kafka.key.deserializer": "x"}, r"kafka\.key\.deserializer"),
        ({"kafka.enable.auto.commit": "true"}, r"kafka\.enable\.auto\.commit .*checkpoint"),
    ],
)
def test_wrong_and_contradicting_options_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        batch(**given)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} is for batch queries only"):
        stream(**{name: "1"})


def test_limits_and_the_clients_own_properties_are_read() -> None:
    found = stream_spec(
        Options(
            {
                "kafka.bootstrap.servers": "x:1",
                "kafka.isolation.level": "read_committed",
                "kafka.max.partition.fetch.bytes": "77",
                "kafka.group.id": "mine",
                "subscribe": "a",
                "maxOffsetsPerTrigger": "10",
                "minOffsetsPerTrigger": "5",
                "maxTriggerDelay": "2m",
                "includeHeaders": "true",
                "failOnDataLoss": "false",
            }
        )
    )
    assert (found.trigger_offsets_max, found.trigger_offsets_min) == (10, 5)
    assert found.trigger_delay_max_ms == 120_000
    assert (found.includes_headers, found.fails_on_data_loss) == (True, False)
    assert (found.client.reads_committed_only, found.client.fetch_partition_max_bytes) == (True, 77)


def test_a_start_that_depends_on_the_moment_is_recognised() -> None:
    assert depends_on_time(stream().starting)
    assert depends_on_time(stream(startingOffsets='{"a": {"0": -1}}').starting)
    assert depends_on_time(stream(startingTimestamp=1, startingOffsetsByTimestampStrategy="latest").starting)
    assert not depends_on_time(stream(startingOffsets="earliest").starting)
    assert not depends_on_time(stream(startingTimestamp=1).starting)
