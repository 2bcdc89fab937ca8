import pytest

from penstock.client.positions import Last, Offset, Position, Start, Time
from penstock.console.positions import Bounds, Where, clamped, parse_where
from penstock.console.refusals import Refused

NOW_MS = 1_750_000_000_000


def test_an_empty_position_means_the_newest_records_of_all_partitions() -> None:
    assert parse_where({}, NOW_MS) == Where()


def test_offsets_and_times_are_read_with_their_partition() -> None:
    query = {"from": "offset", "offset": "17", "time": "5", "partition": "2"}
    assert parse_where(query, NOW_MS) == Where(partitions=frozenset({2}), position=Offset(17))
    assert parse_where({"from": "time", "time": "1700000000000"}, NOW_MS).position == Time(1_700_000_000_000)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("oldest", Start()),
        ("start", Start()),
        ("17", Offset(17)),
        ("-5", Last(5)),
        ("-1m", Time(NOW_MS - 60_000)),
        ("1970-01-01T00:00:01", Time(1000)),
    ],
)
def test_from_accepts_every_position_of_the_command_line(text: str, position: Position) -> None:
    assert parse_where({"from": text}, NOW_MS).position == position


def test_partition_and_partitions_mean_the_same() -> None:
    for name in ("partition", "partitions"):
        assert parse_where({name: "0,2"}, NOW_MS).partitions == frozenset({0, 2})
        assert parse_where({name: "all"}, NOW_MS).partitions is None


@pytest.mark.parametrize(
    "query",
    [
        {"from": "middle"},
        {"from": "offset", "offset": "-1"},
        {"from": "time", "time": "NaN"},
        {"from": "offset", "offset": "9" * 30},
        {"partition": "first"},
        {"partition": "1", "partitions": "1"},
        {"partition": "²"},
    ],
)
def test_an_invalid_position_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(Refused):
        parse_where(query, NOW_MS)


def test_positions_are_clamped_to_the_partition() -> None:
    bounds = Bounds(starts={0: 5, 1: 0}, ends={0: 9, 1: 3})
    assert clamped({0: 0, 1: 99, 7: 1}, bounds) == {0: 5, 1: 3}
