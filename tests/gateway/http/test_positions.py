import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.gateway.http.positions import around, read_positions, write_positions
from penstock.gateway.http.problems import Problem


@given(st.dictionaries(st.integers(0, 10_000), st.integers(0, 2**63 - 1), min_size=1))
def test_positions_round_trip(positions: dict[int, int]) -> None:
    assert read_positions(write_positions(positions), "x") == positions


@given(st.dictionaries(st.integers(0, 99), st.integers(0, 99), min_size=1), st.integers(0, 99), st.data())
def test_a_single_partition_may_move(positions: dict[int, int], offset: int, data: st.DataObject) -> None:
    partition = data.draw(st.sampled_from(sorted(positions)))
    before, after = around(positions, partition)
    assert f"{before}{offset}{after}" == write_positions(positions | {partition: offset})


@pytest.mark.parametrize(
    "text",
    ["", "0", "0:", ":1", "0:-1", "0:1,0:2", "a:1", "0:1;1:2", "0:99999999999999999999", "0:" + "9" * 5000],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Problem, match="Last-Event-ID is"):
        read_positions(text, "Last-Event-ID")
