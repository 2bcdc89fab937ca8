"""Readers that wait for a partition are woken once."""

import asyncio

from penstock.cluster.waiting import WaitingReaders


def test_waiting_readers_are_woken_once_and_removed() -> None:
    async def scenario() -> None:
        readers = WaitingReaders()
        woken, gone, cancelled = (asyncio.get_running_loop().create_future() for _ in range(3))
        for each in (woken, gone, cancelled):
            readers.add(each)
        readers.discard(gone)
        cancelled.cancel()
        readers.wake()
        assert (woken.done(), gone.done(), len(readers)) == (True, False, 0)

    asyncio.run(scenario())
