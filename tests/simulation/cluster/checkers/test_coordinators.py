"""The epoch in which a node may have answered: it decides which commits the answer must know."""

from penstock_simulation.cluster.checkers.coordinators import CoordinatorTerms, last_epoch_before

NODE, OTHER = "node-1", "node-2"


def test_a_request_may_be_answered_in_the_epoch_of_its_arrival_until_the_node_knows_of_a_newer_one() -> None:
    coordinators = CoordinatorTerms()
    coordinators.on_loaded(NODE, 1, 10)
    coordinators.on_loaded(OTHER, 2, 11)
    assert coordinators.earliest_epoch(NODE, 20) == 1
    coordinators.on_epoch(NODE, 2, 21)
    assert coordinators.earliest_epoch(NODE, 20) == 1
    assert coordinators.earliest_epoch(NODE, 22) == 2


def test_a_request_that_waited_for_another_load_may_have_been_answered_before_it() -> None:
    coordinators = CoordinatorTerms()
    coordinators.on_loaded(NODE, 1, 10)
    coordinators.on_loaded(NODE, 3, 12)
    assert coordinators.earliest_epoch(NODE, 11) == 1
    assert coordinators.earliest_epoch(NODE, 13) == 3
    assert coordinators.latest_epoch(NODE) == 3


def test_a_node_that_never_was_the_coordinator_is_excused_nothing() -> None:
    coordinators = CoordinatorTerms()
    coordinators.on_loaded(OTHER, 2, 11)
    assert coordinators.earliest_epoch(NODE, 20) == 2


def test_a_coordinator_knows_the_commits_of_its_epoch_and_of_earlier_ones() -> None:
    commits = {1: 5, 3: 45}
    assert [last_epoch_before(commits, epoch) for epoch in (0, 1, 2, 3, 4)] == [None, 1, 1, 3, 3]
