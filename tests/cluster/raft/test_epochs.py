"""How far a peer may move a node's epoch."""

from penstock.cluster.raft.epochs import EPOCH_MAX, FREE_EPOCH_MAX, EpochLimit

BURST = 1 << 16
SECOND_MS = 1000.0


def test_a_node_that_was_away_may_have_missed_any_number_of_elections_in_the_lower_half() -> None:
    limit = EpochLimit()
    assert limit.allows(FREE_EPOCH_MAX, 0, 0)
    limit.spend(0, FREE_EPOCH_MAX)
    assert limit.allows(FREE_EPOCH_MAX + BURST, FREE_EPOCH_MAX, 0)


def test_the_end_of_the_range_is_out_of_reach_from_every_epoch() -> None:
    for own in (0, 5, FREE_EPOCH_MAX, FREE_EPOCH_MAX + 5, EPOCH_MAX - 2 * BURST):
        assert not EpochLimit().allows(EPOCH_MAX, own, 0)
        assert not EpochLimit().allows(2**31 - 1, own, 0)
    assert not EpochLimit().allows(EPOCH_MAX + 1, EPOCH_MAX, 0)


def test_in_the_upper_half_epochs_rise_no_faster_than_elections_can() -> None:
    limit, own = EpochLimit(), FREE_EPOCH_MAX
    assert not limit.allows(own + BURST + 1, own, 0)
    limit.spend(own, own + BURST)
    own += BURST
    assert not limit.allows(own + 1, own, 0)
    assert limit.allows(own + 100, own, SECOND_MS)
    assert not limit.allows(own + 101, own, SECOND_MS)


def test_the_allowance_does_not_pile_up() -> None:
    limit = EpochLimit()
    assert not limit.allows(FREE_EPOCH_MAX + BURST + 1, 0, 1e12)


def test_own_elections_are_not_held_back_by_what_others_have_used_up() -> None:
    limit, own = EpochLimit(), FREE_EPOCH_MAX
    limit.spend(own, own + BURST + 3)
    assert not limit.allows(own + BURST + 4, own + BURST + 3, 0)
