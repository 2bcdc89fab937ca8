"""What a batch query reads."""

from typing import Any

import pytest

from penstock.arrow.ranges import DataLoss
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError, Options
from penstock.spark.source.batch import batch_ranges
from penstock.spark.source.positions import Positions
from penstock.spark.source.spec import batch_spec
from tests.spark.source.cluster_model import ClusterModel

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


def planned(**given: Any) -> list[tuple[int, int, int]]:
    options = {"kafka.bootstrap.servers": "x:1", "subscribe": "a", **{k: str(v) for k, v in given.items()}}
    spec = batch_spec(Options(options))
    model = ClusterModel({A0: (2, 10), A1: (0, 20)})
    ranges = batch_ranges(Positions(model, spec.subscription), spec)
    return [(each.partition, each.start, each.end) for each in ranges]


def test_all_records_are_read_by_default() -> None:
    assert planned() == [(0, 2, 10), (1, 0, 20)]


def test_offsets_and_timestamps_bound_it() -> None:
    some = '{"a": {"0": 4, "1": -2}}'
    assert planned(startingOffsets=some, endingOffsets='{"a": {"0": 6, "1": -1}}') == [(0, 4, 6), (1, 0, 20)]
    assert planned(startingTimestamp=30, endingTimestamp=80) == [(0, 3, 8), (1, 3, 8)]
    assert planned(startingTimestamp=80, endingTimestamp=30) == []


def test_an_end_beyond_the_log_is_an_error_or_cut() -> None:
    far = '{"a": {"0": 11, "1": 20}}'
    with pytest.raises(DataLoss, match="endingOffsets asks for a-0 up to 11, but it ends at 10"):
        planned(endingOffsets=far)
    assert planned(endingOffsets=far, failOnDataLoss="false") == [(0, 2, 10), (1, 0, 20)]


def test_a_start_beyond_the_end_is_an_error_with_either_option() -> None:
    far = '{"a": {"0": 11, "1": -2}}'
    for fails in ("true", "false"):
        with pytest.raises(OptionError, match="startingOffsets: a-0 ends at offset 10, so it cannot be read"):
            planned(startingOffsets=far, failOnDataLoss=fails)
    assert planned(startingOffsets='{"a": {"0": 10, "1": -2}}') == [(1, 0, 20)]
