"""Commits complete once, in the order of their appends, and only below the committed offset."""

from penstock.cluster.append_queue import fail_all, resolve_below
from penstock.cluster.commit import Commit
from penstock.storage.errors import StorageError


class Producers:
    def __init__(self) -> None:
        self.waiting: list[Commit] = []
        self.seen: list[tuple[str, Exception | None]] = []

    def add(self, last_offset: int, name: str) -> None:
        commit = Commit(leader_epoch=0)
        commit.last_offset = last_offset
        commit.then(lambda done: self.seen.append((name, done.error)))
        self.waiting.append(commit)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.seen]


def test_commits_below_the_offset_complete_once_and_in_order() -> None:
    producers = Producers()
    for last_offset, name in ((3, "a"), (5, "b"), (9, "c")):
        producers.add(last_offset, name)
    resolve_below(producers.waiting, 3)
    assert producers.names == [], "offset 3 itself is not below it"
    resolve_below(producers.waiting, 6)
    assert producers.names == ["a", "b"]
    resolve_below(producers.waiting, 100)
    assert (producers.names, bool(producers.waiting)) == (["a", "b", "c"], False)


def test_a_retry_completes_with_the_appends_before_it() -> None:
    producers = Producers()
    producers.add(9, "new")
    producers.add(4, "retry")
    resolve_below(producers.waiting, 5)
    assert producers.names == []
    resolve_below(producers.waiting, 10)
    assert producers.names == ["new", "retry"]


def test_a_commit_added_while_others_complete_waits_for_the_next_round() -> None:
    producers = Producers()
    first = Commit(leader_epoch=0)
    first.last_offset = 0
    first.then(lambda _: producers.add(0, "later"))
    producers.waiting.append(first)
    resolve_below(producers.waiting, 1)
    assert producers.names == []
    resolve_below(producers.waiting, 1)
    assert producers.names == ["later"]


def test_a_failure_fails_all_commits() -> None:
    producers = Producers()
    producers.add(1, "a")
    producers.add(2, "b")
    failure = StorageError("the disk is gone")
    fail_all(producers.waiting, failure)
    resolve_below(producers.waiting, 10)
    assert producers.seen == [("a", failure), ("b", failure)]
