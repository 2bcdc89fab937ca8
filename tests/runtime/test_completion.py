"""A result that is told on the spot."""

import asyncio

import pytest

from penstock.runtime.completion import Cancelled, Completion, Reply


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


def test_a_reply_is_changed_when_it_is_asked_for_and_a_failure_is_not() -> None:
    good: Reply[int] = Reply()
    good.resolve(7)
    assert good.through(str).result() == "7"
    bad: Reply[int] = Reply()
    bad.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        bad.through(str).result()


def test_a_reply_gives_what_its_coroutine_gives_or_raises() -> None:
    async def work(error: Exception | None) -> int:
        await asyncio.sleep(0)
        if error is not None:
            raise error
        return 7

    async def scenario() -> None:
        assert await Reply.of(work(None)) == 7
        with pytest.raises(ValueError, match="no"):
            await Reply.of(work(ValueError("no")))

    asyncio.run(scenario())


def test_a_reply_fails_when_its_task_is_cancelled() -> None:
    async def scenario() -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        reply = Reply.of(task)
        task.cancel()
        with pytest.raises(Cancelled):
            await reply

    asyncio.run(scenario())


def test_a_reply_after_something_else_is_made_of_it_whether_it_was_resolved_or_failed() -> None:
    good: Completion[int] = Completion()
    bad: Completion[int] = Completion()
    replies = [Reply.after(each, lambda done: str(done.error)) for each in (good, bad)]
    good.resolve(7)
    bad.fail(ValueError("no"))
    assert [each.result() for each in replies] == ["None", "no"]


def test_a_reply_fails_with_what_making_its_response_raises() -> None:
    bad: Completion[int] = Completion()
    reply = Reply.after(bad, lambda done: done.result())
    bad.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        reply.result()
