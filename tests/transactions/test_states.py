"""The transition table equals Kafka's, and all transitions follow it."""

from pathlib import Path

import pytest

from penstock.transactions.states import STATE_NAMES, TRANSITIONS, Event, State

# Kafka's own table, read the other way round: from which states each state can be reached.
REACHED_FROM = {
    State.EMPTY: {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.ONGOING: {State.ONGOING, State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.PREPARE_COMMIT: {State.ONGOING},
    State.PREPARE_ABORT: {
        State.ONGOING,
        State.PREPARE_EPOCH_FENCE,
        State.EMPTY,
        State.COMPLETE_COMMIT,
        State.COMPLETE_ABORT,
    },
    State.COMPLETE_COMMIT: {State.PREPARE_COMMIT},
    State.COMPLETE_ABORT: {State.PREPARE_ABORT},
    State.DEAD: {State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT},
    State.PREPARE_EPOCH_FENCE: {State.ONGOING},
}


@pytest.mark.parametrize("state", State)
def test_a_state_is_reached_from_where_kafka_reaches_it(state: State) -> None:
    assert {before for before, ways in TRANSITIONS.items() if state in ways.values()} == REACHED_FROM[state]


def test_a_prepared_commit_can_only_be_completed() -> None:
    assert TRANSITIONS[State.PREPARE_COMMIT] == {Event.MARKERS_WRITTEN: State.COMPLETE_COMMIT}


def test_the_states_have_kafkas_numbers_and_names() -> None:
    assert [(state.value, state.protocol_name) for state in State] == [
        (0, "Empty"),
        (1, "Ongoing"),
        (2, "PrepareCommit"),
        (3, "PrepareAbort"),
        (4, "CompleteCommit"),
        (5, "CompleteAbort"),
        (6, "Dead"),
        (7, "PrepareEpochFence"),
    ]
    assert STATE_NAMES["PrepareCommit"] is State.PREPARE_COMMIT


def test_the_documentation_shows_the_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "transactions.md").read_text()
    drawn = text.split("stateDiagram-v2\n")[1].split("```")[0]
    assert drawn.splitlines() == [
        f"    {before.protocol_name} --> {after.protocol_name}: {event.value}"
        for before, ways in TRANSITIONS.items()
        for event, after in ways.items()
    ]
