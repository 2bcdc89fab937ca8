"""The limit to which a peer may raise a node's epoch."""

from datetime import UTC, datetime

import pytest

from penstock.cluster.raft.epochs import EPOCH_MAX, FREE_EPOCH_MAX, epoch_ceiling


def at(year: int, second: int = 0) -> int:
    return int(datetime(year, 1, 1, second=second, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize("year", [1970, 2026, 2027, 2059])
def test_the_lower_half_of_the_epochs_is_always_free_and_the_end_is_out_of_reach(year: int) -> None:
    assert FREE_EPOCH_MAX <= epoch_ceiling(at(year)) < EPOCH_MAX - 20_000_000


def test_one_more_election_is_possible_in_every_second() -> None:
    assert epoch_ceiling(at(2030, 1)) == epoch_ceiling(at(2030)) + 1


def test_an_election_is_possible_after_the_ceiling_at_any_time() -> None:
    assert epoch_ceiling(at(9999)) < EPOCH_MAX
