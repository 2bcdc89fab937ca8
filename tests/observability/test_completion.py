"""A result that is told on the spot."""

import asyncio

import pytest

from penstock.observability.completion import Completion


def test_whoever_waits_is_called_when_it_is_resolved() -> None:
    completion: Completion[int] = Completion()
    told: list[int] = []
    completion.then(lambda done: told.append(done.result()))
    assert told == []
    completion.resolve(7)
    assert told == [7]


def test_whoever_comes_late_is_called_at_once() -> None:
    completion: Completion[int] = Completion()
    completion.resolve(7)
    told: list[int] = []
    completion.then(lambda done: told.append(done.result()))
    assert told == [7]


def test_only_the_first_outcome_counts() -> None:
    completion: Completion[int] = Completion()
    completion.fail(ValueError("first"))
    completion.resolve(7)
    with pytest.raises(ValueError, match="first"):
        completion.result()


def test_it_can_be_awaited_before_and_after_it_is_done() -> None:
    async def scenario() -> list[int]:
        completion: Completion[int] = Completion()
        asyncio.get_running_loop().call_soon(completion.resolve, 7)
        return [await completion, await completion]

    assert asyncio.run(scenario()) == [7, 7]


def test_awaiting_raises_what_it_failed_with() -> None:
    async def scenario() -> None:
        completion: Completion[int] = Completion()
        asyncio.get_running_loop().call_soon(completion.fail, ValueError("no"))
        await completion

    with pytest.raises(ValueError, match="no"):
        asyncio.run(scenario())


def test_a_result_is_changed_when_it_is_asked_for_and_a_failure_is_not() -> None:
    good: Completion[int] = Completion()
    good.resolve(7)
    assert good.through(str).result() == "7"
    bad: Completion[int] = Completion()
    bad.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        bad.through(str).result()
