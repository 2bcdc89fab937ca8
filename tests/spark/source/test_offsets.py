"""The JSON of offsets."""

import pytest

from penstock.arrow.ranges import topic_id_text
from penstock.client.metadata import TopicPartition
from penstock.spark.options import OptionError
from penstock.spark.source.offsets import (
    StreamOffsets,
    from_json,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
    to_json,
)

A0, A1, B10 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 10)


def test_offsets_survive_their_json_and_come_in_order() -> None:
    offsets = {B10: 7, A1: 5, A0: 2**40}
    written = to_json(offsets)
    assert list(written) == ["a", "b"]
    assert written == {"a": {"0": 2**40, "1": 5}, "b": {"10": 7}}
    assert from_json(written) == offsets


def test_the_offsets_of_a_stream_carry_the_ids_of_topics_and_are_read_without_them() -> None:
    offsets = StreamOffsets(offsets={A0: 3}, topic_ids={"a": topic_id_text(bytes([1]) * 16)})
    assert offsets.to_json() == {"a": {"0": 3}, "topic ids": {"a": "AQEBAQEBAQEBAQEBAQEBAQ"}}
    assert StreamOffsets.from_json(offsets.to_json()) == offsets
    assert StreamOffsets.from_json({"a": {"0": 3}}) == StreamOffsets(offsets={A0: 3})
    assert StreamOffsets(offsets={A0: 3}).to_json() == {"a": {"0": 3}}
    assert topic_id_text(bytes(16)) == ""


def test_what_a_person_writes_may_say_earliest_and_latest() -> None:
    assert parse_offsets("startingOffsets", '{"a": {"0": -2, "1": -1}, "b": {"10": 3}}') == {
        A0: -2,
        A1: -1,
        B10: 3,
    }


@pytest.mark.parametrize(
    "text", ["newest", "[1]", '{"a": 1}', '{"a": {"x": 1}}', '{"a": {"0": "1"}}', '{"a": {"0": 1.5}}', "{"]
)
def test_offsets_that_are_not_of_the_form_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="option startingOffsets must be JSON like"):
        parse_offsets("startingOffsets", text)


def test_impossible_offsets_and_timestamps_are_refused() -> None:
    with pytest.raises(OptionError, match="offset -3 of a-0"):
        parse_offsets("endingOffsets", '{"a": {"0": -3}}')
    with pytest.raises(OptionError, match="timestamp -1 of a-0"):
        parse_timestamps("startingOffsetsByTimestamp", '{"a": {"0": -1}}')


def test_assign_takes_lists_of_partitions() -> None:
    assert parse_partitions("assign", '{"a": [0, 1], "b": [10]}') == {A0, A1, B10}
    for text in ("a", '{"a": 0}', '{"a": ["x"]}', "{}", '{"a": [-1]}'):
        with pytest.raises(OptionError, match="option assign"):
            parse_partitions("assign", text)
