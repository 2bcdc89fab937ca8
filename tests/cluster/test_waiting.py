"""Who waits for a partition is told once, in order, and only of what concerns them."""

import asyncio

from penstock.cluster.waiting import WaitingProducers, WaitingReaders
from penstock.storage.log_errors import LogError, StorageError


class Producers:
    def __init__(self) -> None:
        self.waiting = WaitingProducers()
        self.told: list[tuple[str, LogError | None]] = []

    def add(self, last_offset: int, name: str) -> None:
        self.waiting.add(last_offset, lambda error: self.told.append((name, error)))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.told]


def test_those_below_the_offset_are_told_once_and_in_order() -> None:
    producers = Producers()
    for last_offset, name in ((3, "a"), (5, "b"), (9, "c")):
        producers.add(last_offset, name)
    producers.waiting.reached(3)
    assert producers.names == [], "offset 3 itself is not below it"
    producers.waiting.reached(6)
    assert producers.names == ["a", "b"]
    producers.waiting.reached(100)
    assert (producers.names, bool(producers.waiting)) == (["a", "b", "c"], False)


def test_who_sends_a_batch_again_is_told_with_those_before() -> None:
    producers = Producers()
    producers.add(9, "new")
    producers.add(4, "sent again")
    producers.waiting.reached(5)
    assert producers.names == []
    producers.waiting.reached(10)
    assert producers.names == ["new", "sent again"]


def test_who_comes_while_others_are_told_waits_for_the_next() -> None:
    producers = Producers()
    producers.waiting.add(0, lambda _: producers.add(0, "later"))
    producers.waiting.reached(1)
    assert producers.names == []
    producers.waiting.reached(1)
    assert producers.names == ["later"]


def test_all_are_told_of_a_failure() -> None:
    producers = Producers()
    producers.add(1, "a")
    producers.add(2, "b")
    failure = StorageError("the disk is gone")
    producers.waiting.fail(failure)
    producers.waiting.reached(10)
    assert producers.told == [("a", failure), ("b", failure)]


def test_readers_are_woken_and_forgotten() -> None:
    async def story() -> None:
        readers = WaitingReaders()
        woken, gone, cancelled = (asyncio.get_running_loop().create_future() for _ in range(3))
        for each in (woken, gone, cancelled):
            readers.add(each)
        readers.discard(gone)
        cancelled.cancel()
        readers.wake()
        assert (woken.done(), gone.done(), len(readers)) == (True, False, 0)

    asyncio.run(story())
