import asyncio

from tests.storage.journal.store import DATA, Store


def test_records_that_only_the_journal_has_are_replayed_into_identical_segments() -> None:
    async def run() -> None:
        store = await Store.made()
        for number in range(5):
            await store.write(f"journaled {number}")
            await store.write(f"journaled alone {number}", [number % 3])
        before = store.segments()
        assert all(store.disk.unsynced_bytes(f"{DATA}/t-{each}/{0:020d}.log") for each in store.partitions)
        await store.crash()
        await store.check()
        assert store.segments() == before
        assert [len(each) for each in store.written] == [8, 8, 7]

    asyncio.run(run())
