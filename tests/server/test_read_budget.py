import asyncio

from penstock.server.read_budget import BYTES_PER_TURN, ReadBudget


def test_when_much_was_read_others_wait_for_turns_of_their_own_in_their_order() -> None:
    async def run() -> None:
        pace = ReadBudget()
        order: list[str] = []

        async def fetch(name: str) -> None:
            await pace.turn()
            order.append(name)
            pace.spend(BYTES_PER_TURN)

        async def others() -> None:
            for _ in range(8):
                order.append("other")
                await asyncio.sleep(0)

        await asyncio.gather(*(fetch(name) for name in "abc"), others())
        assert [name for name in order if name != "other"] == ["a", "b", "c"]
        between = order[order.index("a") : order.index("c")]
        assert between.count("other") >= 2, "whoever asks for little has turns in between"
        await asyncio.sleep(0)
        assert pace.is_open

    asyncio.run(run())


def test_what_was_read_in_one_turn_does_not_count_in_the_next() -> None:
    async def run() -> None:
        pace = ReadBudget()
        openings = []
        for size in (BYTES_PER_TURN - 1, 1):
            pace.spend(size)
            openings.append(pace.is_open)
        await asyncio.sleep(0)
        assert (openings, pace.is_open) == ([True, False], True)

    asyncio.run(run())


def test_a_fetch_that_is_cancelled_while_it_waits_holds_up_nobody() -> None:
    async def run() -> None:
        pace = ReadBudget()
        pace.spend(BYTES_PER_TURN)
        gone, next_one = asyncio.ensure_future(pace.turn()), asyncio.ensure_future(pace.turn())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(next_one, 10)

    asyncio.run(run())
