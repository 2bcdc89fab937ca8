import asyncio

from tests.storage.keyed_store import KeyedStore


def test_pausing_cancels_a_running_pass_and_starts_no_new_one() -> None:
    store = KeyedStore()
    store.put("a=1 a=2 a=3 b=1")

    async def scenario() -> list[bool]:
        started = asyncio.Event()

        async def hang() -> None:
            started.set()
            await asyncio.Event().wait()

        store.before_swap = hang
        running = asyncio.create_task(store.cleaner.compact_dirtiest())
        await started.wait()
        async with store.store.passes.paused("t", 0):
            await running
            while_paused = await store.cleaner.compact_dirtiest()
        store.before_swap = None
        return [while_paused, await store.cleaner.compact_dirtiest()]

    assert store.run(scenario()) == [False, True]
    assert store.text() == "2:a=3 3:b=1"
