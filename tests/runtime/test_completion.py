"""A result whose callbacks run at once."""

import asyncio

import pytest

from penstock.runtime.completion import Cancelled, Completion, Reply


def test_a_callback_runs_when_the_completion_is_resolved() -> None:
    completion: Completion[int] = Completion()
    results: list[int] = []
    completion.then(lambda done: results.append(done.result()))
    assert results == []
    completion.resolve(7)
    assert results == [7]


def test_a_callback_added_after_the_resolution_runs_at_once() -> None:
    completion: Completion[int] = Completion()
    completion.resolve(7)
    results: list[int] = []
    completion.then(lambda done: results.append(done.result()))
    assert results == [7]


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


def test_awaiting_a_failed_completion_raises_its_error() -> None:
    async def scenario() -> None:
        completion: Completion[int] = Completion()
        asyncio.get_running_loop().call_soon(completion.fail, ValueError("no"))
        await completion

    with pytest.raises(ValueError, match="no"):
        asyncio.run(scenario())


def test_a_mapped_reply_maps_the_result_and_passes_a_failure_on() -> None:
    good: Reply[int] = Reply()
    good.resolve(7)
    assert good.through(str).result() == "7"
    bad: Reply[int] = Reply()
    bad.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        bad.through(str).result()


def test_a_reply_has_the_result_or_the_error_of_its_coroutine() -> None:
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


def test_a_reply_after_a_completion_is_built_whether_it_was_resolved_or_failed() -> None:
    good: Completion[int] = Completion()
    bad: Completion[int] = Completion()
    replies = [Reply.after(each, lambda done: str(done.error)) for each in (good, bad)]
    good.resolve(7)
    bad.fail(ValueError("no"))
    assert [each.result() for each in replies] == ["None", "no"]


def test_a_reply_fails_with_the_error_of_building_its_response() -> None:
    bad: Completion[int] = Completion()
    reply = Reply.after(bad, lambda done: done.result())
    bad.fail(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        reply.result()
