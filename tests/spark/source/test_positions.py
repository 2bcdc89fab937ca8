"""Which partitions are read, and which offsets options stand for."""

import pytest

from penstock.client.blocking.client import EARLIEST, LATEST
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError
from penstock.spark.source.positions import MissingTopics, Positions
from penstock.spark.source.spec import (
    Assigned,
    AtOffsets,
    AtTimestamps,
    EarliestOrLatest,
    Subscription,
    Topics,
)
from tests.spark.source.cluster_model import ClusterModel

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
INTERNAL = TopicPartition("__a", 0)
LOGS = {A0: (2, 10), A1: (0, 20), B0: (0, 5), INTERNAL: (0, 1)}


def positions(subscription: Subscription | None = None) -> Positions:
    return Positions(ClusterModel(LOGS), subscription or Topics(names=frozenset("a")))


def test_partitions_are_those_of_the_topics_that_are_named_matched_or_assigned() -> None:
    assert positions().partitions() == {A0, A1}
    assert positions(Topics(pattern="a|b")).partitions() == {A0, A1, B0}
    assert positions(Topics(pattern="a")).partitions() == {A0, A1}
    assert positions(Topics(pattern=".*")).partitions() == {A0, A1, B0}
    assert positions(Topics(names=frozenset({"__a"}))).partitions() == {INTERNAL}
    assert positions(Assigned(partitions=frozenset({A1}))).partitions() == {A1}


def test_at_the_start_what_was_named_must_exist() -> None:
    with pytest.raises(MissingTopics, match="subscribe: topic nope does not exist"):
        positions(Topics(names=frozenset({"a", "nope"}))).existing()
    with pytest.raises(MissingTopics, match="assign: partition a-7 does not exist"):
        positions(Assigned(partitions=frozenset({TopicPartition("a", 7)}))).existing()
    assert positions(Topics(pattern="nope")).existing().partitions == frozenset()


def test_edges_and_offsets_become_numbers() -> None:
    both = frozenset({A0, A1})
    assert positions().resolve(EarliestOrLatest(offset=EARLIEST), both) == {A0: 2, A1: 0}
    at = AtOffsets(option="startingOffsets", offsets={A0: LATEST, A1: 7})
    assert positions().resolve(at, both) == {A0: 10, A1: 7}


def test_offsets_must_name_exactly_the_partitions_that_are_read() -> None:
    at = AtOffsets(option="startingOffsets", offsets={A0: 1, B0: 1})
    with pytest.raises(OptionError, match=r"startingOffsets .*a-1 is missing; b-0 is not read"):
        positions().resolve(at, frozenset({A0, A1}))


def test_a_timestamp_stands_for_the_first_record_that_is_not_older() -> None:
    at = AtTimestamps(option="startingTimestamp", timestamps=55, takes_latest=False)
    assert positions().resolve(at, frozenset({A0, A1})) == {A0: 6, A1: 6}
    by_partition = AtTimestamps(
        option="startingOffsetsByTimestamp", timestamps={A0: 0, A1: 190}, takes_latest=False
    )
    assert positions().resolve(by_partition, frozenset({A0, A1})) == {A0: 2, A1: 19}


def test_a_timestamp_after_the_last_record_is_an_error_or_the_end() -> None:
    late = AtTimestamps(option="startingTimestamp", timestamps=150, takes_latest=False)
    with pytest.raises(OptionError, match=r"startingTimestamp: a-0 has no record at or after 150.*Strategy"):
        positions().resolve(late, frozenset({A0, A1}))
    lenient = AtTimestamps(option="startingTimestamp", timestamps=150, takes_latest=True)
    assert positions().resolve(lenient, frozenset({A0, A1})) == {A0: 10, A1: 15}


def test_a_reader_of_committed_records_asks_for_the_last_stable_offset() -> None:
    model = ClusterModel(LOGS, "read_committed")
    Positions(model, Topics(names=frozenset("a"))).latest([A0])
    assert model.reads_committed_only == [True]
