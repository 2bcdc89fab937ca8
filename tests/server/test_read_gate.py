"""The order in which requests of a connection read, without deadlocks."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from penstock.server.read_gate import FIRST_BYTES_MAX, ConnectionGone, ReadGate


class Reader:
    """A request that waits to read, holds its turn until the test ends it, and records when it had it."""

    def __init__(self, turns: ReadGate, number: int) -> None:
        self._has_turn = False
        self.may_end = asyncio.Event()
        self.task = asyncio.ensure_future(self._read(turns, number))

    def has_turn(self) -> bool:
        return self._has_turn

    async def _read(self, turns: ReadGate, number: int) -> None:
        async with turns.turn(number):
            self._has_turn = True
            await self.may_end.wait()
        self._has_turn = False


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_reads_run_one_at_a_time_in_the_order_of_their_requests() -> None:
    async def scenario() -> None:
        turns = ReadGate()
        readers = [Reader(turns, number) for number in (1, 2, 3)]
        for number in range(3):
            await settle()
            assert [r.has_turn() for r in readers] == [i == number for i in range(3)]
            readers[number].may_end.set()
        await asyncio.gather(*(r.task for r in readers))

    run(scenario())


def test_nothing_is_read_for_a_slow_client() -> None:
    async def scenario() -> None:
        turns = ReadGate()
        turns.is_slow = True
        reader = Reader(turns, 1)
        await settle()
        assert not reader.has_turn()
        turns.is_slow = False
        turns.wake()
        await settle()
        assert reader.has_turn()
        reader.may_end.set()
        await reader.task

    run(scenario())


def test_only_the_oldest_waiter_reads_while_memory_is_short() -> None:
    async def scenario() -> None:
        turns = ReadGate()
        turns.is_full = True
        late, oldest = Reader(turns, 2), Reader(turns, 1)
        await settle()
        assert (late.has_turn(), oldest.has_turn()) == (False, True)
        oldest.may_end.set()
        turns.answered = 1
        turns.wake()
        await settle()
        assert late.has_turn()
        late.may_end.set()
        await asyncio.gather(late.task, oldest.task)

    run(scenario())


def test_a_wait_for_memory_does_not_block_the_reads_of_others() -> None:
    async def scenario() -> None:
        turns = ReadGate()
        first, second = Reader(turns, 2), Reader(turns, 3)
        await settle()
        assert first.has_turn()
        turns.is_full = True  # the answer of the first stands behind request 1, which has not read yet
        first.may_end.set()
        await settle()
        assert not second.has_turn()
        oldest = Reader(turns, 1)
        await settle()
        assert oldest.has_turn()
        oldest.may_end.set()
        turns.is_full = False
        turns.wake()
        await settle()
        assert second.has_turn()
        second.may_end.set()
        await asyncio.gather(first.task, second.task, oldest.task)

    run(scenario())


@pytest.mark.parametrize("is_slow", [True, False])
def test_a_disconnect_ends_the_wait_of_its_reads(is_slow: bool) -> None:
    async def scenario() -> None:
        turns = ReadGate()
        turns.is_slow = is_slow
        turns.is_full = True
        reader = Reader(turns, 5)
        await settle()
        turns.is_gone = True
        turns.wake()
        with pytest.raises(ConnectionGone):
            await reader.task

    run(scenario())


def test_the_limit_of_a_client_grows_when_a_read_used_at_least_half_of_it() -> None:
    turns = ReadGate()
    turns.note_size(FIRST_BYTES_MAX // 2 - 1)
    assert turns.bytes_max == FIRST_BYTES_MAX
    turns.note_size(FIRST_BYTES_MAX // 2)
    assert turns.bytes_max == FIRST_BYTES_MAX * 5 // 4
