from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.groups.classic.states import TRANSITIONS, Event, State
from tests.groups.classic.driver import DELAY_MS, Driver

Scene = Callable[[], Driver]


def empty() -> Driver:
    return Driver()


def preparing() -> Driver:
    driver = Driver()
    driver.join(new_id="a")
    return driver


def completing() -> Driver:
    driver = preparing()
    driver.advance(DELAY_MS)
    return driver


def stable() -> Driver:
    return Driver().stable("a")


def _join(driver: Driver) -> None:
    driver.join(new_id="another")


def _time_passes(driver: Driver) -> None:
    driver.advance(DELAY_MS)


def _leave_and_wait(driver: Driver) -> None:
    driver.leave("a")
    driver.advance(DELAY_MS)


def _leader_syncs(driver: Driver) -> None:
    driver.sync("a", {"a": b""})


def _end(driver: Driver) -> None:
    driver.end()


SCENES: dict[tuple[State, Event], tuple[Scene, Callable[[Driver], None]]] = {
    (State.EMPTY, Event.REBALANCE_BEGINS): (empty, _join),
    (State.EMPTY, Event.GROUP_REMOVED): (empty, _end),
    (State.PREPARING_REBALANCE, Event.MEMBERS_JOINED): (preparing, _time_passes),
    (State.PREPARING_REBALANCE, Event.NO_MEMBER_JOINED): (preparing, _leave_and_wait),
    (State.PREPARING_REBALANCE, Event.GROUP_REMOVED): (preparing, _end),
    (State.COMPLETING_REBALANCE, Event.ASSIGNMENT_STORED): (completing, _leader_syncs),
    (State.COMPLETING_REBALANCE, Event.REBALANCE_BEGINS): (completing, _join),
    (State.COMPLETING_REBALANCE, Event.GROUP_REMOVED): (completing, _end),
    (State.STABLE, Event.REBALANCE_BEGINS): (stable, _join),
    (State.STABLE, Event.GROUP_REMOVED): (stable, _end),
}


@pytest.mark.parametrize(("state", "event"), SCENES, ids=lambda each: each.name)
def test_a_group_follows_the_transition_table(state: State, event: Event) -> None:
    scene, happen = SCENES[state, event]
    driver = scene()
    assert driver.group.state is state

    happen(driver)

    assert driver.group.state is TRANSITIONS[state][event]


def test_every_transition_of_the_table_is_tested() -> None:
    assert set(SCENES) == {(state, event) for state, events in TRANSITIONS.items() for event in events}


def test_nothing_leads_out_of_dead() -> None:
    driver = stable()
    driver.end()

    ticket = driver.join(new_id="late")

    assert driver.group.state is State.DEAD
    assert driver.error(ticket).name == "COORDINATOR_NOT_AVAILABLE"


def test_the_documentation_shows_the_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "groups.md").read_text()
    section = text.partition("The states of a classic group")[2].partition("\n## ")[0]
    shown = {line.strip() for line in section.splitlines() if " --> " in line}

    assert shown == {
        f"{state.value} --> {after.value}: {event.value}"
        for state, events in TRANSITIONS.items()
        for event, after in events.items()
    }
