import pytest

from penstock.console.positions import Bounds, Where, clamped, parse_where
from penstock.console.refusals import Refused


def test_without_words_the_newest_of_all_partitions_are_meant() -> None:
    assert parse_where({}) == Where(partition=None, origin="newest")


def test_offsets_and_times_are_read_with_their_partition() -> None:
    query = {"from": "offset", "offset": "17", "time": "5", "partition": "2"}
    assert parse_where(query) == Where(partition=2, origin="offset", number=17)
    assert parse_where({"from": "time", "time": "1700000000000"}).number == 1_700_000_000_000


@pytest.mark.parametrize(
    "query",
    [
        {"from": "middle"},
        {"from": "offset", "offset": "-1"},
        {"from": "time", "time": "NaN"},
        {"from": "offset", "offset": "9" * 30},
        {"partition": "first"},
        {"partition": "²"},
    ],
)
def test_what_makes_no_sense_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(Refused):
        parse_where(query)


def test_positions_stay_within_what_a_partition_holds() -> None:
    bounds = Bounds(starts={0: 5, 1: 0}, ends={0: 9, 1: 3})
    assert clamped({0: 0, 1: 99, 7: 1}, bounds) == {0: 5, 1: 3}
