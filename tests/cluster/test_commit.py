"""Commits are done once, in the order of their appends, and only when their offsets are safe."""

import gc
import weakref

from penstock.cluster.commit import Commit, CommitQueue
from penstock.observability.completion import Completion
from penstock.storage.log.errors import LogError, StorageError


class Producers:
    def __init__(self) -> None:
        self.queue = CommitQueue()
        self.seen: list[tuple[str, Exception | None]] = []

    def add(self, last_offset: int, name: str) -> None:
        commit = Commit(leader_epoch=0)
        commit.last_offset = last_offset
        commit.then(lambda done: self.seen.append((name, done.error)))
        self.queue.append(commit)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.seen]


def test_commits_below_the_offset_are_done_once_and_in_order() -> None:
    producers = Producers()
    for last_offset, name in ((3, "a"), (5, "b"), (9, "c")):
        producers.add(last_offset, name)
    producers.queue.reached(3)
    assert producers.names == [], "offset 3 itself is not below it"
    producers.queue.reached(6)
    assert producers.names == ["a", "b"]
    producers.queue.reached(100)
    assert (producers.names, bool(producers.queue)) == (["a", "b", "c"], False)


def test_a_retry_is_done_with_the_appends_before_it() -> None:
    producers = Producers()
    producers.add(9, "new")
    producers.add(4, "retry")
    producers.queue.reached(5)
    assert producers.names == []
    producers.queue.reached(10)
    assert producers.names == ["new", "retry"]


def test_a_commit_that_is_added_while_others_are_done_waits_for_the_next() -> None:
    producers = Producers()
    first = Commit(leader_epoch=0)
    first.last_offset = 0
    first.then(lambda _: producers.add(0, "later"))
    producers.queue.append(first)
    producers.queue.reached(1)
    assert producers.names == []
    producers.queue.reached(1)
    assert producers.names == ["later"]


def test_a_failure_fails_all() -> None:
    producers = Producers()
    producers.add(1, "a")
    producers.add(2, "b")
    failure = StorageError("the disk is gone")
    producers.queue.fail(failure)
    producers.queue.reached(10)
    assert producers.seen == [("a", failure), ("b", failure)]


def test_a_refused_commit_is_freed_without_the_collector() -> None:
    def refuse() -> "weakref.ref[Completion[None]]":
        commit = Refused(leader_epoch=0)
        try:
            raise StorageError("no")
        except LogError as error:
            commit.fail(error)
        return weakref.ref(commit)

    gc.disable()
    try:
        assert refuse()() is None
    finally:
        gc.enable()


class Refused(Commit, weakref=True):
    """A commit that can be seen to be freed."""
