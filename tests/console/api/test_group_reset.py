import pytest

from penstock.client.aio import TopicPartition
from penstock.console.api.group_reset import Reset, moves_of
from penstock.console.refusals import Refused

_FIRST, _SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
_STARTS = {_FIRST: 10, _SECOND: 0}
_ENDS = {_FIRST: 50, _SECOND: 20}


def _new(to: str, number: int = 0, at: dict[TopicPartition, int] | None = None) -> list[int]:
    wanted = Reset(topic="orders", to=to, number=number)
    return [move["new"] for move in moves_of(wanted, _STARTS, _ENDS, at or {}, {_FIRST: 30})]


def test_earliest_and_latest_are_the_ends_of_each_partition() -> None:
    assert _new("earliest") == [10, 0]
    assert _new("latest") == [50, 20]


def test_an_offset_outside_of_a_partition_becomes_its_start_or_end() -> None:
    assert _new("offset", 5) == [10, 5]
    assert _new("offset", 30) == [30, 20]


def test_a_time_after_the_last_record_means_the_end() -> None:
    assert _new("time", 99, {_FIRST: 33, _SECOND: -1}) == [33, 20]


def test_the_preview_shows_old_and_new_offsets() -> None:
    moves = moves_of(Reset(topic="orders", to="earliest"), _STARTS, _ENDS, {}, {_FIRST: 30})
    assert [(move["partition"], move["old"]) for move in moves] == [(0, 30), (1, None)]


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(Refused):
        _new("yesterday")
