import asyncio

from penstock.server.read_budget import BYTES_PER_TURN, ReadBudget


def test_reads_over_the_budget_of_a_turn_wait_in_order_for_later_turns() -> None:
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


def test_the_budget_is_renewed_in_each_turn() -> None:
    async def run() -> None:
        pace = ReadBudget()
        openings = []
        for size in (BYTES_PER_TURN - 1, 1):
            pace.spend(size)
            openings.append(pace.is_open)
        await asyncio.sleep(0)
        assert (openings, pace.is_open) == ([True, False], True)

    asyncio.run(run())


def test_a_cancelled_fetch_does_not_block_others() -> None:
    async def run() -> None:
        pace = ReadBudget()
        pace.spend(BYTES_PER_TURN)
        gone, next_one = asyncio.ensure_future(pace.turn()), asyncio.ensure_future(pace.turn())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait_for(next_one, 10)

    asyncio.run(run())
